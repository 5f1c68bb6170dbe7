/* SPDX-License-Identifier: MIT */
/* The farewell of a rank that makes no more calls: who gets it, and who passes it on. */
#include "exec/gone.h"

#include "base/wait.h"
#include "exec/comm_list.h"
#include "exec/lane.h"
#include "exec/relatives.h"

#include <stdlib.h>
#include <string.h>

/* Note [who is told].  Every rank of a comm of up to TOLD_ALL.  In larger ones each would open a connection to each at
 * the end, so the ranks at distances of powers of two are told, for which rings, trees and exchanges by halves wait
 * first: the first of them that waits fails the comm for all.  A rank at another distance, which receives from the rank
 * that has gone for instance, waits until it gives that rank a sign, and then asks two ranks that would have been told,
 * at each sign two others.  The farewell has the counts of all pairs, so it can be passed on to any rank. */
enum { TOLD_ALL = 64, MOST_PAIRS = 16384 };

/* Would that rank tell the other one? */
static bool tells(const struct choir_comm *comm, int rank, int other)
{
	int distance = (other - rank + comm->n) % comm->n;

	if (comm->n - distance < distance)
		distance = comm->n - distance;
	return comm->n <= TOLD_ALL || comm->layout.node_of[rank] == comm->layout.node_of[other] ||
	       (distance & (distance - 1)) == 0;
}

static bool is_told(const struct choir_comm *comm, int rank)
{
	return rank != comm->rank && gone_find(comm, rank) == NULL && tells(comm, comm->rank, rank);
}

/* 1, 2, 4 and so on, up to half of n, in turn. */
static int told_distance(int n, unsigned turn)
{
	unsigned n_distances = 1;

	while (2 << n_distances <= n)
		n_distances++;
	return 1 << turn % n_distances;
}

void gone_ask(struct choir_comm *comm, int rank, unsigned turn)
{
	struct wire_header header = { .kind = WIRE_ASK_GONE, .tag = (uint32_t)rank };
	int distance = told_distance(comm->n, turn);

	if (tells(comm, rank, comm->rank) || gone_find(comm, rank) != NULL)
		return;
	for (int side = -1; side <= 1; side += 2) {
		int other = (rank + side * distance + comm->n) % comm->n;

		if (other != comm->rank && gone_find(comm, other) == NULL &&
		    !messenger_lost(comm->messenger, comm->endpoint_of[other]))
			(void)comm_send(comm, other, &header, NULL, 0);
	}
}

/* The payload: told, its tags, its pairs, the cause. */
struct farewell {
	struct wire_gone told;
	struct wire_tagged tags[WIRE_TAGS];
	char rest[ERROR_TEXT_BYTES]; /* its place where all tags are told; longer where there are pairs */
};

static size_t append(struct farewell *words, size_t at, const void *what, size_t bytes)
{
	memcpy((char *)words + at, what, bytes);
	return at + bytes;
}

/* Puts pairs and cause behind the tags; returns the bytes of the payload. */
static size_t pack(struct farewell *words, const struct wire_tagged *pairs, const char *cause)
{
	size_t at = sizeof words->told + gone_tags(&words->told) * sizeof *pairs;

	if (gone_pairs(&words->told) > 0)
		at = append(words, at, pairs, gone_pairs(&words->told) * sizeof *pairs);
	return append(words, at, cause, strnlen(cause, ERROR_TEXT_BYTES));
}

/* Under submission.lock: of all ranks; NULL: too many, or no memory. */
static struct wire_tagged *copy_pairs(const struct choir_comm *comm, uint64_t *n_p)
{
	const struct submission *submission = &comm->submission;
	size_t most = (size_t)comm->n + submission->tagged.n, n = 0;
	struct wire_tagged *pairs = most <= MOST_PAIRS ? malloc(most * sizeof *pairs) : NULL;

	if (pairs == NULL)
		return NULL;
	for (int rank = 0; rank < comm->n; rank++)
		if (submission->sent[rank] > 0 || submission->received[rank] > 0)
			pairs[n++] =
			    (struct wire_tagged){ 0, rank, submission->sent[rank], submission->received[rank] };
	*n_p = n + tagged_copy(&submission->tagged, -1, pairs + n, most - n);
	return pairs;
}

/* Under submission.lock. */
static choir_status say_to(struct choir_comm *comm, int rank, const struct wire_tagged *pairs, const char *cause,
                           struct farewell *words, struct wire_header *header)
{
	const struct submission *submission = &comm->submission;
	struct wire_gone *told = &words->told;

	told->sent = submission->sent[rank];
	told->received = submission->received[rank];
	told->n_tags = tagged_copy(&submission->tagged, rank, words->tags, WIRE_TAGS);
	return comm_send(comm, rank, header, words, pack(words, pairs, cause));
}

/* Under submission.lock. */
static void say_to_all(struct choir_comm *comm, const struct wire_tagged *pairs, struct farewell *words,
                       struct wire_header *header)
{
	struct kept_error cause;

	words->told.calls = comm->submission.next_seq;
	words->told.has_record =
	    words->told.calls > 0 && lane_record(comm, comm->local_rank, words->told.calls - 1, &header->record);
	relatives_failure(comm, words->told.calls, &cause);
	header->key = cause.status;
	for (int rank = 0; rank < comm->n; rank++) {
		choir_status st = CHOIR_SUCCESS;

		if (is_told(comm, rank))
			st = say_to(comm, rank, pairs, cause.text, words, header);
		if (st != CHOIR_SUCCESS && st != CHOIR_PEER_DEAD)
			break; /* the transport is gone: the others have their deadlines */
	}
}

void gone_say(struct choir_comm *comm, bool process_ends)
{
	struct farewell few = { .told = { .n_pairs = WIRE_NO_PAIRS, .ended = process_ends } }, *words = NULL;
	struct wire_header header = { .kind = WIRE_GONE };
	struct wire_tagged *pairs = NULL;
	uint64_t n_pairs;

	pthread_mutex_lock(&comm->submission.lock); /* other threads may still number calls where the process ends */
	if (comm->n > TOLD_ALL && (pairs = copy_pairs(comm, &n_pairs)) != NULL &&
	    (words = calloc(1, sizeof *words + n_pairs * sizeof *pairs)) != NULL)
		words->told = (struct wire_gone){ .n_pairs = n_pairs, .ended = process_ends };
	say_to_all(comm, pairs, words != NULL ? words : &few, &header);
	pthread_mutex_unlock(&comm->submission.lock);
	free(words);
	free(pairs);
}

/* The counts of its pair with that rank. */
static void pick_pair(const struct gone *gone, int rank, struct farewell *words)
{
	const struct wire_tagged *pairs = gone->tags + gone->n_tags;

	for (size_t i = 0; i < gone->told.n_pairs; i++) {
		if (pairs[i].rank != rank)
			continue;
		if (pairs[i].tag == 0) {
			words->told.sent = pairs[i].sent;
			words->told.received = pairs[i].received;
		} else if (words->told.n_tags++ < WIRE_TAGS) {
			words->tags[words->told.n_tags - 1] = pairs[i];
		}
	}
}

void gone_pass_on(struct choir_comm *comm, int rank, int to)
{
	const struct gone *gone = gone_find(comm, rank);
	struct wire_header header = { .kind = WIRE_GONE, .comm = comm->context, .src = rank, .dst = to };
	struct farewell words;

	if (gone == NULL || gone->told.n_pairs == WIRE_NO_PAIRS)
		return;
	words.told = gone->told;
	words.told.sent = words.told.received = words.told.n_tags = 0;
	words.told.n_pairs = WIRE_NO_PAIRS;
	pick_pair(gone, to, &words);
	header.key = gone->cause;
	header.record = gone->last;
	(void)messenger_send(comm->messenger, comm->endpoint_of[to], &header, &words,
	                     pack(&words, words.tags, gone->cause_text), NULL);
}

static bool lock_list(void *unused)
{
	(void)unused;
	return comm_list_trylock();
}

static bool is_free(void *messenger)
{
	return messenger_is_free(messenger);
}

/* Threads hold the list, and a messenger, for microseconds; but exit() may have come from inside a walk along the list,
 * or from a function of the transport. */
static bool succeeds(bool (*attempt)(void *of), void *of)
{
	enum { MOST_MS = 100, LOOK_US = 50 };
	int64_t end = wait_end_ns(MOST_MS);

	while (!attempt(of)) {
		if (wait_now_ns() > end)
			return false;
		wait_sleep_us(LOOK_US);
	}
	return true;
}

/* A process that ends with comms says so to the other ranks: those of other nodes would not see it. */
static void __attribute__((destructor)) say_end(void)
{
	const struct messenger *held = NULL; /* by a thread inside the transport, perhaps this one */

	if (!succeeds(lock_list, NULL))
		return;
	for (struct choir_comm *comm = comm_list_first(); comm != NULL; comm = comm->listing.next) {
		if (comm_has_failed(comm) || comm->messenger == held)
			continue;
		if (succeeds(is_free, comm->messenger))
			gone_say(comm, true);
		else
			held = comm->messenger;
	}
	comm_list_unlock();
}
