/* SPDX-License-Identifier: MIT */
#include "exec/gone.h"

#include "exec/comm_list.h"
#include "exec/lane.h"
#include "exec/record.h"
#include "exec/relatives.h"

#include "base/plural.h"

#include <stdio.h>
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

/* How many tags a farewell tells: of a pair with more than WIRE_TAGS none. */
static size_t told_tags(const struct wire_gone *told)
{
	return told->n_tags <= WIRE_TAGS ? told->n_tags : 0;
}

/* Of a message of so many bytes; NULL: it is none of a farewell, or there is no memory. */
static struct gone *read_farewell(const void *payload, size_t bytes)
{
	struct wire_gone told;
	size_t tags, more;
	struct gone *gone;

	if (bytes < sizeof told)
		return NULL;
	memcpy(&told, payload, sizeof told);
	tags = told_tags(&told) * sizeof gone->tags[0];
	more = bytes - sizeof told;
	gone = more >= tags ? malloc(sizeof *gone + more + 1) : NULL;
	if (gone == NULL)
		return NULL;
	gone->told = told;
	gone->n_tags = told_tags(&told);
	memcpy(gone->tags, (const char *)payload + sizeof told, more);
	((char *)gone->tags)[more] = '\0';
	gone->cause_text = (const char *)gone->tags + tags;
	return gone;
}

/* Messages are delivered one at a time, so nobody else writes the list. */
void gone_deliver(struct choir_comm *comm, struct message *message)
{
	struct gone *gone;

	if (message->header.src < 0 || message->header.src >= comm->n)
		return;
	gone = read_farewell(message_payload(message), message->payload_bytes);
	if (gone == NULL)
		return; /* who waits for that rank has his deadline */
	gone->rank = message->header.src;
	gone->last = message->header.record;
	gone->cause = (choir_status)message->header.key;
	gone->next = atomic_load_explicit(&comm->gone, memory_order_relaxed);
	atomic_store_explicit(&comm->gone, gone, memory_order_release);
}

static void describe_last(const struct gone *gone, char *text, size_t bytes)
{
	char last[RUN_TEXT_BYTES];

	if (gone->told.has_record)
		snprintf(text, bytes, "after %s",
		         record_describe(&gone->last, gone->told.calls - 1, "", last, sizeof last));
	else if (gone->told.calls == 0)
		snprintf(text, bytes, "before its first collective call");
	else
		snprintf(text, bytes, "after %llu collective call%s", (unsigned long long)gone->told.calls,
		         plural(gone->told.calls));
}

choir_status gone_failure(const struct gone *gone, char *text, size_t bytes)
{
	char after[RUN_TEXT_BYTES + 32];
	bool caused = gone->cause != CHOIR_SUCCESS;

	describe_last(gone, after, sizeof after);
	snprintf(text, bytes, "%s %.180s%s%s", gone->told.ended ? "whose process ended" : "which destroyed its comm",
	         after, caused ? "; another of its comms had failed: " : "", caused ? gone->cause_text : "");
	if (gone->told.ended)
		return CHOIR_PEER_DEAD;
	return caused ? gone->cause : CHOIR_ABORTED;
}

/* How many sends (else recvs) with that tag it has made to this rank; false: unknown. */
static bool find_pair_calls(const struct gone *gone, uint32_t tag, bool sends, uint64_t *calls_p)
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

/* Calls are numbered: the rank has made those below, and what they sent is on its way. */
bool gone_lacks(const struct gone *gone, const struct run *run)
{
	uint64_t calls;

	if (run->bound.pair) /* keys hold the low half of the number */
		return run->bound.pair_peer == gone->rank &&
		       find_pair_calls(gone, tagged_tag(run->number), !run->bound.pair_sends, &calls) &&
		       (int32_t)((uint32_t)run->number - (uint32_t)calls) >= 0;
	return !run->bound.alone && run->seq >= gone->told.calls;
}

choir_status gone_error(const struct gone *gone, const struct run *run)
{
	const struct choir_comm *comm = run->comm;
	char called[RUN_TEXT_BYTES], why[ERROR_TEXT_BYTES];
	choir_status st = gone_failure(gone, why, sizeof why);

	run_call_text(run, called, sizeof called);
	return error_set(st, "%s: rank %d: %s waits for rank %d, %s", comm->name, comm->rank, called, gone->rank, why);
}

choir_status gone_refuse(const struct run *run)
{
	const struct gone *gone = atomic_load_explicit(&run->comm->gone, memory_order_acquire);

	for (; gone != NULL; gone = gone->next)
		if (gone_lacks(gone, run))
			return gone_error(gone, run);
	return CHOIR_SUCCESS;
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

/* The record of the last collective of that rank of my node; false: its lane is at another call. */
static bool last_record(const struct choir_comm *comm, int local_rank, uint64_t calls, struct call_record *out)
{
	return calls > 0 && lane_record(comm, local_rank, calls - 1, out);
}

int gone_find_dead(const struct choir_comm *comm, bool (*is_wanted)(void *ctx, int rank), void *ctx)
{
	for (int p = 0; comm->engine.any_dead && p < comm->n_watched; p++) {
		const struct comm_process *peer = &comm->processes[p];

		for (int i = 0; i < peer->n_ranks && peer->dead_looks > 1; i++)
			if (is_wanted(ctx, peer->ranks[i]))
				return peer->ranks[i];
	}
	return -1;
}

static bool is_rank(void *ctx, int rank)
{
	return rank == *(int *)ctx;
}

bool gone_is_dead(const struct choir_comm *comm, int rank)
{
	return gone_find_dead(comm, is_rank, &rank) >= 0;
}

/* "; its last collective call was allreduce #7 (...)"; empty: unknown. */
static void say_last_call(const struct choir_comm *comm, int rank, char *text, size_t bytes)
{
	struct call_record last;
	char called[RUN_TEXT_BYTES];
	uint64_t calls;
	int local_rank;

	text[0] = '\0';
	if (!comm_is_near(comm, rank))
		return;
	local_rank = comm->layout.local_rank_of[rank];
	calls = atomic_load(&comm_control(comm, local_rank)->submitted);
	if (calls == 0)
		snprintf(text, bytes, "; it has made no collective call");
	else if (last_record(comm, local_rank, calls, &last))
		snprintf(text, bytes, "; its last collective call was %s",
		         record_describe(&last, calls - 1, "", called, sizeof called));
	else
		snprintf(text, bytes, "; it has made %llu collective call%s", (unsigned long long)calls, plural(calls));
}

choir_status gone_dead_error(const struct run *run, int rank, const char *what)
{
	const struct choir_comm *comm = run->comm;
	char called[RUN_TEXT_BYTES], last[RUN_TEXT_BYTES + 32];

	run_call_text(run, called, sizeof called);
	say_last_call(comm, rank, last, sizeof last);
	return error_set(CHOIR_PEER_DEAD, "%s: rank %d: rank %d is %s, and %.180s waits for it%.200s", comm->name,
	                 comm->rank, rank, what, called, last);
}

struct farewell {
	struct wire_gone told;
	struct wire_tagged tags[WIRE_TAGS];
	char cause[ERROR_TEXT_BYTES]; /* its place where all tags are told */
};

/* Under submission.lock. */
static choir_status say_to(struct choir_comm *comm, int rank, const char *cause, struct farewell *words,
                           struct wire_header *header)
{
	const struct submission *submission = &comm->submission;
	struct wire_gone *told = &words->told;
	size_t bytes = strlen(cause), at;

	told->sent = submission->sent[rank];
	told->received = submission->received[rank];
	told->n_tags = tagged_copy(&submission->tagged, rank, words->tags, WIRE_TAGS);
	at = sizeof *told + told_tags(told) * sizeof *words->tags;
	memcpy((char *)words + at, cause, bytes);
	return comm_send(comm, rank, header, words, at + bytes);
}

void gone_say(struct choir_comm *comm, bool process_ends)
{
	struct submission *submission = &comm->submission;
	struct farewell words = { .told = { .ended = process_ends } };
	struct wire_header header = { .kind = WIRE_GONE };
	struct kept_error cause;

	pthread_mutex_lock(&submission->lock); /* other threads may still number calls where the process ends */
	words.told.calls = submission->next_seq;
	words.told.has_record = last_record(comm, comm->local_rank, words.told.calls, &header.record);
	relatives_failure(comm, words.told.calls, &cause);
	header.key = cause.status;
	for (int rank = 0; rank < comm->n; rank++) {
		choir_status st = CHOIR_SUCCESS;

		if (is_told(comm, rank))
			st = say_to(comm, rank, cause.text, &words, &header);
		if (st != CHOIR_SUCCESS && st != CHOIR_PEER_DEAD)
			break; /* the transport is gone: the others have their deadlines */
	}
	pthread_mutex_unlock(&submission->lock);
}

/* A process that ends with comms says so to the other ranks: those of other nodes would not see it. */
static void __attribute__((destructor)) say_end(void)
{
	if (!comm_list_trylock())
		return;
	for (struct choir_comm *comm = comm_list_first(); comm != NULL; comm = comm->listing.next)
		if (!comm_has_failed(comm))
			gone_say(comm, true);
	comm_list_unlock();
}
