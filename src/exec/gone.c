/* SPDX-License-Identifier: MIT */
#include "exec/gone.h"

#include "exec/comms.h"

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
	size_t more;

	if (message->header.src < 0 || message->header.src >= comm->n || message->payload_bytes < sizeof gone->told)
		return;
	more = message->payload_bytes - sizeof gone->told;
	gone = malloc(sizeof *gone + more);
	if (gone == NULL || more % sizeof gone->tags[0] != 0) {
		free(gone);
		return; /* who waits for that rank has his deadline */
	}
	gone->rank = message->header.src;
	gone->last = message->header.record;
	memcpy(&gone->told, message_payload(message), sizeof gone->told);
	gone->n_tags = more / sizeof gone->tags[0];
	memcpy(gone->tags, (const char *)message_payload(message) + sizeof gone->told, more);
	gone->next = atomic_load_explicit(&comm->gone, memory_order_relaxed);
	atomic_store_explicit(&comm->gone, gone, memory_order_release);
}

bool gone_pair_calls(const struct gone *gone, uint32_t tag, bool sends, uint64_t *calls_p)
{
	*calls_p = 0;
	if (tag == 0)
		*calls_p = sends ? gone->told.sent : gone->told.received;
	for (size_t i = 0; i < gone->n_tags && tag != 0; i++)
		if (gone->tags[i].tag == tag)
			*calls_p = sends ? gone->tags[i].sent : gone->tags[i].received;
	return tag == 0 || gone->n_tags == gone->told.n_tags;
}

const struct gone *gone_find(const struct choir_comm *comm, int rank)
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

	if (distance == 0 || gone_find(comm, rank) != NULL)
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

struct farewell {
	struct wire_gone told;
	struct wire_tagged tags[WIRE_TAGS];
};

/* Under submission.lock.  Of a pair with more than WIRE_TAGS tags none is told. */
static choir_status say_to(struct choir_comm *comm, int rank, struct farewell *words, struct wire_header *header)
{
	const struct submission *submission = &comm->submission;
	struct wire_gone *told = &words->told;
	size_t n;

	told->sent = submission->sent[rank];
	told->received = submission->received[rank];
	told->n_tags = tagged_copy(&submission->tagged, rank, words->tags, WIRE_TAGS);
	n = told->n_tags <= WIRE_TAGS ? told->n_tags : 0;
	return comm_send(comm, rank, header, words, sizeof *told + n * sizeof *words->tags);
}

void gone_say(struct choir_comm *comm, bool process_ends)
{
	struct submission *submission = &comm->submission;
	struct farewell words = { .told = { .ended = process_ends } };
	struct wire_header header = { .kind = WIRE_GONE };

	pthread_mutex_lock(&submission->lock); /* other threads may still number calls where the process ends */
	words.told.calls = submission->next_seq;
	words.told.has_record = last_record(comm, words.told.calls, &header.record);
	for (int rank = 0; rank < comm->n; rank++) {
		choir_status st = is_told(comm, rank) ? say_to(comm, rank, &words, &header) : CHOIR_SUCCESS;

		if (st != CHOIR_SUCCESS && st != CHOIR_PEER_DEAD)
			break; /* the transport is gone: the others have their deadlines */
	}
	pthread_mutex_unlock(&submission->lock);
}

/* A process that ends with comms says so to the other ranks: those of other nodes would not see it. */
static void __attribute__((destructor)) say_end(void)
{
	if (!comms_trylock())
		return;
	for (struct choir_comm *comm = comms_first(); comm != NULL; comm = comm->listing.next)
		if (!comm_has_failed(comm))
			gone_say(comm, true);
	comms_unlock();
}
