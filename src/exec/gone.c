/* SPDX-License-Identifier: MIT */
#include "exec/gone.h"

#include "exec/lane.h"
#include "exec/record.h"

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

/* Of a message of so many bytes; NULL: it is none of a farewell, or there is no memory. */
static struct gone *read_farewell(const void *payload, size_t bytes)
{
	struct wire_gone told;
	struct gone *gone;
	size_t counts, more;

	if (bytes < sizeof told)
		return NULL;
	memcpy(&told, payload, sizeof told);
	more = bytes - sizeof told;
	if (gone_pairs(&told) > more / sizeof gone->tags[0])
		return NULL;
	counts = (gone_tags(&told) + gone_pairs(&told)) * sizeof gone->tags[0];
	gone = more >= counts ? malloc(sizeof *gone + more + 1) : NULL;
	if (gone == NULL)
		return NULL;
	gone->told = told;
	gone->n_tags = gone_tags(&told);
	memcpy(gone->tags, (const char *)payload + sizeof told, more);
	((char *)gone->tags)[more] = '\0';
	gone->cause_text = (const char *)gone->tags + counts;
	return gone;
}

/* Messages are delivered one at a time, so nobody else writes the list. */
void gone_deliver(struct choir_comm *comm, struct message *message)
{
	struct gone *gone;

	if (message->header.src < 0 || message->header.src >= comm->n || gone_find(comm, message->header.src) != NULL)
		return;
	gone = read_farewell(message_payload(message), message->payload_bytes);
	if (gone == NULL)
		return; /* ranks that wait for that one have their deadlines */
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
	return !run->bound.single_rank && run->seq >= gone->told.calls;
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
	else if (lane_record(comm, local_rank, calls - 1, &last))
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
