/* SPDX-License-Identifier: MIT */
#include "exec/keyed.h"

#include "base/log.h"
#include "exec/gone.h"
#include "exec/keyed_state.h"
#include "exec/late.h"
#include "exec/liveness.h"
#include "node/key_board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MS = 200 }; /* so long may a rank have the table of keys before the sentence says so */

/* Looks which ranks of this node have said the key; false: another rank has the table, so all may have. */
static bool see_key(struct choir_comm *comm, const struct keyed_call *call)
{
	return key_board_look(comm->keyed->board, comm->node_size, call->key, comm->keyed->seen);
}

/* Had the rank said the key that was looked at last? */
static bool was_seen(const struct choir_comm *comm, int local_rank)
{
	return comm->keyed->seen[local_rank / 64] >> local_rank % 64 & 1;
}

/* Has the rank made the call, or is that not known?  After see_key. */
static bool may_have_made(const struct choir_comm *comm, const struct keyed_call *call, int rank)
{
	if (comm_is_near(comm, rank))
		return was_seen(comm, comm->layout.local_rank_of[rank]);
	return call->made == NULL || call->made[rank];
}

/* "rank 3 has", "ranks 1 3 have".  After see_key. */
static void list_missing(const struct choir_comm *comm, const struct keyed_call *call, char *text, size_t bytes)
{
	int n = 0, at = 0;
	char ranks[128] = "";

	for (int rank = 0; rank < comm->n; rank++) {
		if (may_have_made(comm, call, rank))
			continue;
		n++;
		if (at + 16 < (int)sizeof ranks)
			at += snprintf(ranks + at, sizeof ranks - (size_t)at, " %d", rank);
		else
			memcpy(ranks + at, " ...", sizeof " ...");
	}
	if (n == 0)
		snprintf(text, bytes, "a rank of another node has");
	else
		snprintf(text, bytes, "rank%s%s ha%s", n > 1 ? "s" : "", ranks, n > 1 ? "ve" : "s");
}

/* Asks the ranks of other nodes whether they have made the call, if it is time to.  A rank that has made it answers. */
static void ask(struct choir_comm *comm, struct keyed_call *call, int64_t now, int64_t ms)
{
	if (comm->layout.n_nodes == 1 || comm->keyed->asked_ns == now ||
	    !liveness_ask_is_due(&call->ask_ms, ms, call->first->watch.deadline_ms))
		return;
	if (call->made == NULL && (call->made = calloc((size_t)comm->n, sizeof *call->made)) == NULL)
		return; /* the sentence names no rank of another node */
	comm->keyed->asked_ns = now;
	for (int rank = 0; rank < comm->n; rank++)
		if (!comm_is_near(comm, rank) && !call->made[rank])
			keyed_send(comm, rank, WIRE_KEY_ASKED, call->key, comm->keyed->cursor);
}

/* Gone, lost or dead (check.h). */
static bool has_left(const struct choir_comm *comm, int rank, bool *dead)
{
	const struct gone *gone = gone_find(comm, rank);

	*dead = gone == NULL || gone->told.ended;
	return gone != NULL || liveness_lost(comm, rank) || gone_is_dead(comm, rank);
}

/* Of another node: a rank that destroyed its comm, or ended, may still be one that has made the call, until all the
 * calls that it made have their numbers here. */
static bool may_come(const struct choir_comm *comm, int rank)
{
	const struct gone *gone = gone_find(comm, rank);

	return gone != NULL && comm->submission.next_seq < gone->told.calls;
}

/* A rank that will not make the call, if one is known. */
static bool find_left(struct choir_comm *comm, const struct keyed_call *call, int *rank_p)
{
	bool dead;

	for (int i = 0; i < comm->node_size; i++) {
		*rank_p = comm_rank_at(comm, i);
		/* A rank that died with the lock of the table keeps it. */
		if (has_left(comm, *rank_p, &dead) && (call->said ? see_key(comm, call) && !was_seen(comm, i) : dead))
			return true;
	}
	for (*rank_p = 0; *rank_p < comm->n && comm->layout.n_nodes > 1; ++*rank_p)
		if (!comm_is_near(comm, *rank_p) && has_left(comm, *rank_p, &dead) && !may_come(comm, *rank_p))
			return true;
	return false;
}

static int64_t waited_ms(const struct keyed_call *call, int64_t now)
{
	return (now - call->since_ns) / 1000000;
}

/* The clock starts when the call's deps are complete. */
static bool awaits_deps(struct keyed_call *call, int64_t now)
{
	bool moved, done = true;

	if (deps_poll(&call->first->deps, &moved, &done) != CHOIR_SUCCESS || done)
		return false;
	call->since_ns = now;
	return true;
}

/* The rank that tells this one which key is next: the first rank of its node, which rank 0 tells. */
static int teller(const struct choir_comm *comm)
{
	int first = comm_rank_at(comm, 0);

	return first != comm->rank ? first : 0;
}

/* Has the first rank of this node given no sign for so long that it has stopped, so that no rank of the node is told?
 */
static bool teller_is_silent(const struct choir_comm *comm, const struct keyed_call *call, int64_t now)
{
	int first = comm_rank_at(comm, 0);

	return comm->layout.n_nodes > 1 && comm->rank != first &&
	       liveness_silence_ns(comm, first, now) >= late_silence_ns(waited_ms(call, now));
}

/* The first other rank of this node, else of the others, that has not made the call, as far as is known; -1: none.
 * After see_key. */
static int first_missing(const struct choir_comm *comm, const struct keyed_call *call)
{
	int far = -1;

	for (int rank = 0; rank < comm->n; rank++) {
		if (rank == comm->rank || may_have_made(comm, call, rank))
			continue;
		if (comm_is_near(comm, rank))
			return rank;
		if (far < 0)
			far = rank;
	}
	return far;
}

/* The rank that keeps the key from being next, as far as is known; -1: not known. */
static int awaited_by(struct choir_comm *comm, const struct keyed_call *call, int64_t now)
{
	int rank = -1;

	if (!call->said)
		return -1;
	(void)see_key(comm, call);
	if (!call->begun && !teller_is_silent(comm, call, now))
		rank = first_missing(comm, call);
	if (rank < 0 && comm->layout.n_nodes > 1 && teller(comm) != comm->rank)
		rank = teller(comm);
	return rank;
}

/* Where the node has said the key, its first rank holds the call until it has passed on that the key is next, and gives
 * signs meanwhile: has it stopped?  After see_key. */
static bool teller_has_stopped(const struct choir_comm *comm, const struct keyed_call *call, int64_t now)
{
	int missing = first_missing(comm, call);

	return (missing < 0 || !comm_is_near(comm, missing)) && teller_is_silent(comm, call, now);
}

/* A call whose key this rank could not say. */
static void describe_unsaid(const struct choir_comm *comm, const struct keyed_call *call, double ms, char *text,
                            size_t bytes)
{
	struct keyed *keyed = comm->keyed;
	char first[KEY_BOARD_TEXT], why[KEY_BOARD_TEXT + 128] = "a rank of this node holds the table of keys";

	if (keyed->n_said - keyed->cursor >= KEY_BOARD_ORDER) {
		snprintf(why, sizeof why, "too many before it have not begun");
	} else if (key_board_is_full(keyed->board, comm->node_size, first, keyed->seen)) {
		int at = 0;

		while (was_seen(comm, at))
			at++;
		snprintf(why, sizeof why, "%d others wait for ranks of this node, '%.80s' for rank %d", KEY_BOARD_KEYS,
		         first, comm_rank_at(comm, at));
	}
	snprintf(text, bytes, "%s: rank %d: %s: after %.1f s the key '%.80s' is not said to the others: %s", comm->name,
	         comm->rank, run_name(call->first), ms / 1e3, call->text, why);
}

/* table_is_free: see_key has just succeeded. */
static void describe(const struct choir_comm *comm, const struct keyed_call *call, bool table_is_free, int64_t now,
                     char *text, size_t bytes)
{
	const struct run *run = call->first;
	double ms = (double)waited_ms(call, now);
	char missing[192];

	if (!call->said) {
		describe_unsaid(comm, call, ms, text, bytes);
		return;
	}
	if (call->begun) {
		snprintf(text, bytes,
		         "%s: rank %d: %s: after %.1f s rank %d has not passed on that the key '%.80s', which all "
		         "ranks have "
		         "said, is next",
		         comm->name, comm->rank, run_name(run), ms / 1e3, teller(comm), call->text);
		return;
	}
	if (!table_is_free) {
		snprintf(
		    text, bytes,
		    "%s: rank %d: %s: after %.1f s the key '%.80s' is not next: a rank of this node holds the table "
		    "of keys",
		    comm->name, comm->rank, run_name(run), ms / 1e3, call->text);
		return;
	}
	if (teller_has_stopped(comm, call, now)) {
		snprintf(text, bytes,
		         "%s: rank %d: %s: after %.1f s rank %d has not passed on whether the key '%.80s' is next, and "
		         "gives no sign",
		         comm->name, comm->rank, run_name(run), ms / 1e3, teller(comm), call->text);
		return;
	}
	list_missing(comm, call, missing, sizeof missing);
	snprintf(text, bytes, "%s: rank %d: %s: after %.1f s %s not made the call of key '%.80s'", comm->name,
	         comm->rank, run_name(run), ms / 1e3, missing, call->text);
}

/* Has this rank read the order of keys?  An entry that it has not read may begin the call. */
static bool order_is_read(const struct keyed *keyed)
{
	uint64_t cursor = keyed->cursor, key;

	return !key_board_next(keyed->board, &cursor, &key);
}

/* The failure of a call that this rank will not make. */
static choir_status say_left(struct choir_comm *comm, const struct keyed_call *call, int rank, char *text, size_t bytes)
{
	const struct gone *gone = gone_find(comm, rank);
	char why[ERROR_TEXT_BYTES] = "which is dead";
	choir_status st = gone != NULL ? gone_failure(gone, why, sizeof why) : CHOIR_PEER_DEAD;

	snprintf(text, bytes, "%s: rank %d: %s waits for a call of key '%.80s' by rank %d, %s", comm->name, comm->rank,
	         run_name(call->first), call->text, rank, why);
	return st;
}

/* The failure that the call gives the comm, SUCCESS if none. */
static choir_status look_at(struct choir_comm *comm, struct keyed_call *call, int64_t now, char *text, size_t bytes)
{
	const struct run *run = call->first;
	int64_t ms, due_ms;
	bool table_is_free;
	int rank;

	if (find_left(comm, call, &rank))
		return say_left(comm, call, rank, text, bytes);
	if (awaits_deps(call, now))
		return CHOIR_SUCCESS;
	ms = waited_ms(call, now);
	ask(comm, call, now, ms);
	due_ms = ms < run->watch.deadline_ms && !call->warned ? comm->warn_ms : run->watch.deadline_ms;
	if (ms < due_ms || !order_is_read(comm->keyed))
		return CHOIR_SUCCESS;
	table_is_free = see_key(comm, call);
	if (!table_is_free && ms < due_ms + TABLE_MS)
		return CHOIR_SUCCESS; /* the rank with the table may have lost its core: asked at the next check */
	describe(comm, call, table_is_free, now, text, bytes);
	if (ms >= run->watch.deadline_ms)
		return CHOIR_TIMEOUT;
	log_text(LOG_WARNING, "%s", text);
	call->warned = true;
	return CHOIR_SUCCESS;
}

bool keyed_is_late(const struct keyed *keyed)
{
	return keyed->late && keyed_holds(keyed);
}

int keyed_awaited(const struct keyed *keyed)
{
	return keyed_is_late(keyed) ? keyed->awaited : -1;
}

void keyed_check(struct choir_comm *comm, int64_t now_ns)
{
	struct keyed *keyed = comm->keyed;
	choir_status st = CHOIR_SUCCESS;
	const struct keyed_call *oldest = NULL;
	char text[ERROR_TEXT_BYTES];

	pthread_mutex_lock(&keyed->lock);
	for (size_t b = 0; b < KEYED_BUCKETS; b++)
		for (struct keyed_call *call = keyed->buckets[b]; call != NULL; call = call->next)
			if (st == CHOIR_SUCCESS && call->first != NULL) {
				st = look_at(comm, call, now_ns, text, sizeof text);
				if (oldest == NULL || call->since_ns < oldest->since_ns)
					oldest = call;
			}
	keyed->late = oldest != NULL && waited_ms(oldest, now_ns) >= LIVENESS_SIGN_MS;
	keyed->awaited = keyed->late ? awaited_by(comm, oldest, now_ns) : -1;
	pthread_mutex_unlock(&keyed->lock);
	if (st != CHOIR_SUCCESS)
		comm_fail(comm, st, text);
}
