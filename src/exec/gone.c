/* SPDX-License-Identifier: MIT */
#include "exec/gone.h"

#include <stdlib.h>
#include <string.h>

void gone_fini(struct choir_comm *comm)
{
	struct gone *gone = atomic_load(&comm->gone), *next;

	for (; gone != NULL; gone = next) {
		next = gone->next;
		free(gone);
	}
}

/* Messages are delivered one at a time, so nobody else writes the list. */
void gone_deliver(struct choir_comm *comm, struct message *message)
{
	struct gone *gone;

	if (message->header.src < 0 || message->header.src >= comm->n || message->payload_bytes != sizeof gone->told)
		return;
	gone = malloc(sizeof *gone);
	if (gone == NULL)
		return; /* who waits for that rank has his deadline */
	gone->rank = message->header.src;
	gone->last = message->header.record;
	memcpy(&gone->told, message_payload(message), sizeof gone->told);
	gone->next = atomic_load_explicit(&comm->gone, memory_order_relaxed);
	atomic_store_explicit(&comm->gone, gone, memory_order_release);
}

static const struct gone *find_gone(const struct choir_comm *comm, int rank)
{
	const struct gone *gone = atomic_load_explicit(&comm->gone, memory_order_acquire);

	while (gone != NULL && gone->rank != rank)
		gone = gone->next;
	return gone;
}

/* Note [who is told].  Every rank of a comm of up to TOLD_ALL.  In larger ones each would open a connection to each at
 * the end, so the ranks at distances of powers of two are told, for which rings, trees and exchanges by halves wait
 * first: the first of them that waits fails the comm for all. */
enum { TOLD_ALL = 64 };

static bool is_told(const struct choir_comm *comm, int rank)
{
	int distance = (rank - comm->rank + comm->n) % comm->n;
	bool near = comm_is_near(comm, rank);

	if (distance == 0 || find_gone(comm, rank) != NULL)
		return false;
	if (comm->n - distance < distance)
		distance = comm->n - distance;
	return comm->n <= TOLD_ALL || near || (distance & (distance - 1)) == 0;
}

/* The record of the last collective, if this rank has said it. */
static bool last_record(const struct choir_comm *comm, uint64_t calls, struct call_record *out)
{
	const struct arena_lane *lane = comm_lane(comm, comm->local_rank, (int)((calls - 1) % COMM_LANES));

	if (calls == 0 || !arena_is_at(atomic_load_explicit(&lane->flag, memory_order_relaxed), calls - 1))
		return false;
	memcpy(out, lane->record, sizeof *out);
	return true;
}

void gone_say(struct choir_comm *comm, bool process_ends)
{
	struct submission *submission = &comm->submission;
	struct wire_gone told = { .ended = process_ends };
	struct wire_header header = {
		.magic = WIRE_MAGIC, .kind = WIRE_GONE, .comm = comm->context, .src = comm->rank
	};

	pthread_mutex_lock(&submission->lock); /* other threads may still number calls where the process ends */
	told.calls = submission->next_seq;
	told.has_record = last_record(comm, told.calls, &header.record);
	for (int rank = 0; rank < comm->n; rank++) {
		if (!is_told(comm, rank))
			continue;
		header.dst = rank;
		told.sent = submission->sent[rank];
		told.received = submission->received[rank];
		if (messenger_send(comm->messenger, comm->endpoint_of[rank], &header, &told, sizeof told, NULL) !=
		    CHOIR_SUCCESS)
			break; /* the transport is gone: the others have their deadlines */
	}
	pthread_mutex_unlock(&submission->lock);
}
