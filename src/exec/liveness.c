/* SPDX-License-Identifier: MIT */
/* Note [liveness].  A rank that waits for others gives a sign 50 times a second and says for whom it waits; one that is
 * stopped, dead or busy elsewhere gives none.  So a late call follows the chain: from the rank that it waits for to the
 * one that this rank waits for, and so on.  If a rank on the way has been silent for long, the one with the longest
 * silence is named; the last word of a silent rank is old, so the chain may go on beyond it.  Otherwise the rank at the
 * end is named, which waits for nobody.  A rank that waits in one comm for long says so in its relatives too, if the
 * awaited rank is one of theirs and no call of it there waits for a rank or is at work; a call whose deps are not
 * complete counts as neither.  Questions and answers between nodes may be lost; the next question comes at twice the
 * time, the last one well before the deadline.
 *
 * Note [signs].  A transport tells that a peer is lost when something is sent to it, and a rank that waits for a
 * message sends nothing.  So a rank that has waited for LIVENESS_SIGN_MS sends its sign to the ranks of other nodes
 * that it waits for, to SIGNS of them at once, and again in the same time: the answer to a question that nobody asked.
 * Of the first of them it asks others whether that rank has gone (Note [who is told] in gone_say.c).
 * While a message is still leaving it sends none, so a peer that does not read is not buried in them. */
#include "exec/liveness.h"

#include "base/arithmetic.h"
#include "base/log.h"
#include "base/wait.h"
#include "exec/gone.h"

#include <stdlib.h>

enum { SIGNS = 64, ASK_MS = 1000, LAST_ASK_MS = 500 };

choir_status liveness_init(struct choir_comm *comm)
{
	comm->liveness.ranks = calloc((size_t)comm->n, sizeof *comm->liveness.ranks);
	if (comm->liveness.ranks == NULL)
		return error_no_memory("what ranks tell of themselves", (size_t)comm->n * sizeof *comm->liveness.ranks);
	return CHOIR_SUCCESS;
}

void liveness_fini(struct choir_comm *comm)
{
	free(comm->liveness.ranks);
}

void liveness_deliver(struct choir_comm *comm, const struct wire_header *header, int64_t now_ns)
{
	struct liveness_rank *rank;

	if (header->src < 0 || header->src >= comm->n)
		return;
	rank = &comm->liveness.ranks[header->src];
	if (header->kind == WIRE_ASK) {
		inbox_compare(&comm->inbox, header);
		atomic_store(&rank->asked, true);
		atomic_store(&comm->liveness.any_asked, true);
		return;
	}
	if (header->kind == WIRE_ASK_GONE) {
		atomic_store(&rank->asks_gone, header->tag + 1);
		atomic_store(&comm->liveness.any_asked, true);
		return;
	}
	if (header->key > atomic_load(&rank->calls)) /* only the messenger's driver writes these */
		atomic_store(&rank->calls, header->key);
	atomic_store(&rank->waits_for, header->tag);
	atomic_store(&rank->heard_ns, now_ns);
}

static struct arena_control *control_of(const struct choir_comm *comm, int rank)
{
	return comm_control(comm, comm->layout.local_rank_of[rank]);
}

bool liveness_calls(const struct choir_comm *comm, int rank, uint64_t *calls)
{
	const struct liveness_rank *far = &comm->liveness.ranks[rank];

	*calls = comm_is_near(comm, rank) ? atomic_load(&control_of(comm, rank)->submitted) : atomic_load(&far->calls);
	return comm_is_near(comm, rank) || atomic_load(&far->heard_ns) != 0;
}

int64_t liveness_silence_ns(const struct choir_comm *comm, int rank, int64_t now_ns)
{
	const struct liveness *liveness = &comm->liveness;
	bool near = comm_is_near(comm, rank);
	int64_t sign =
	    near ? atomic_load(&control_of(comm, rank)->sign_ns) : atomic_load(&liveness->ranks[rank].heard_ns);

	if (sign == 0)
		return INT64_MAX;
	if (!near && sign >= liveness->asked_ns)
		return 0;
	return now_ns > sign ? now_ns - sign : 0;
}

/* For whom the rank says to wait, -1: for nobody. */
static int told_to_wait_for(const struct choir_comm *comm, int rank)
{
	const _Atomic uint32_t *at =
	    comm_is_near(comm, rank) ? &control_of(comm, rank)->waits_for : &comm->liveness.ranks[rank].waits_for;
	uint32_t told = atomic_load(at);

	return told <= (uint32_t)comm->n ? (int)told - 1 : -1;
}

int liveness_culprit(const struct choir_comm *comm, int first, int64_t now_ns, int64_t silence_ns)
{
	int rank = first, last = first, quietest = first;
	int64_t longest = -1;

	for (int i = 0; rank >= 0 && rank != comm->rank && i < comm->n; i++) {
		int64_t silence = liveness_silence_ns(comm, rank, now_ns);

		if (silence > longest) {
			longest = silence;
			quietest = rank;
		}
		last = rank;
		rank = told_to_wait_for(comm, rank);
	}
	return rank >= 0 || longest >= silence_ns ? quietest : last; /* rank >= 0: they wait in a circle */
}

/* Has a relative said of late for whom the rank waits? */
static bool is_published_for(const struct choir_comm *comm, int64_t now_ns)
{
	return now_ns - atomic_load(&comm->liveness.published_for_ns) < LIVENESS_SIGN_MS * 1000000;
}

/* waits_for: NULL: as before. */
static void publish(struct choir_comm *comm, const int *waits_for, int64_t now_ns)
{
	struct arena_control *control = comm_control(comm, comm->local_rank);

	if (waits_for != NULL)
		atomic_store_explicit(&control->waits_for, (uint32_t)(*waits_for + 1), memory_order_relaxed);
	atomic_store_explicit(&control->sign_ns, now_ns, memory_order_relaxed);
}

/* A job is done by a thread that does not drive: then the last slow check may be old. */
static bool is_occupied(const struct choir_comm *comm)
{
	return atomic_load(&comm->submission.unfinished) > 0 &&
	       (atomic_load(&comm->liveness.occupied) || atomic_load(&comm->submission.in_jobs) > 0);
}

void liveness_publish(struct choir_comm *comm, int waits_for, bool at_work, int64_t now_ns)
{
	bool occupied = waits_for >= 0 || at_work;

	atomic_store(&comm->liveness.occupied, occupied);
	publish(comm, !occupied && is_published_for(comm, now_ns) ? NULL : &waits_for, now_ns);
}

void liveness_publish_for(struct choir_comm *comm, int waits_for, int64_t now_ns)
{
	if (is_occupied(comm))
		return;
	publish(comm, &waits_for, now_ns);
	atomic_store(&comm->liveness.published_for_ns, now_ns);
}

void liveness_ask(struct run *run, int64_t now_ns)
{
	struct choir_comm *comm = run->comm;
	struct wire_header header = { .kind = WIRE_ASK, .key = run->number, .record = run->bound.record };

	comm->liveness.asked_ns = now_ns;
	for (int rank = 0; rank < comm->n; rank++)
		if (!comm_is_near(comm, rank)) /* a transport that fails says so when it is driven */
			(void)comm_send(comm, rank, &header, NULL, 0);
}

bool liveness_ask_is_due(int64_t *next_ms, int64_t ms, int64_t deadline_ms)
{
	int64_t last = deadline_ms - min_i64(deadline_ms / 4, LAST_ASK_MS);

	if (ms >= deadline_ms || ms < (*next_ms > 0 ? *next_ms : min_i64(deadline_ms / 16, ASK_MS)))
		return false;
	*next_ms = ms < last ? min_i64(2 * ms + 1, last) : INT64_MAX;
	return true;
}

static bool waits_for_deps(const struct run *run)
{
	return run->state == RUN_DEPS && !run->bound.pair && !run->bound.single_rank;
}

/* All calls below it have started here.  Each run is passed once, however often signs are given. */
static uint64_t started(struct choir_comm *comm)
{
	struct run **first = &comm->engine.flight.may_be_in_deps;

	while (*first != NULL && !waits_for_deps(*first))
		*first = (*first)->next;
	return *first != NULL ? (*first)->seq : comm->submission.next_seq;
}

/* Does the rank wait now, here or in another comm?  Else its last word is about a call which is over. */
static bool waits(const struct choir_comm *comm)
{
	return atomic_load(&comm->submission.unfinished) > 0 || is_published_for(comm, wait_now_ns());
}

static struct wire_header here(struct choir_comm *comm)
{
	struct wire_header header = { .kind = WIRE_HERE, .key = started(comm) };

	if (waits(comm))
		header.tag = atomic_load(&comm_control(comm, comm->local_rank)->waits_for);
	return header;
}

void liveness_answer(struct choir_comm *comm)
{
	struct wire_header header;

	if (!atomic_load_explicit(&comm->liveness.any_asked, memory_order_relaxed) ||
	    !atomic_exchange(&comm->liveness.any_asked, false))
		return;
	header = here(comm);
	for (int rank = 0; rank < comm->n; rank++) {
		uint32_t gone = atomic_exchange(&comm->liveness.ranks[rank].asks_gone, 0);

		if (atomic_exchange(&comm->liveness.ranks[rank].asked, false))
			(void)comm_send(comm, rank, &header, NULL, 0);
		if (gone != 0)
			gone_pass_on(comm, (int)gone - 1, rank);
	}
}

void liveness_sign(struct choir_comm *comm, int64_t now_ns, liveness_awaited_fn is_awaited)
{
	struct liveness *liveness = &comm->liveness;
	struct wire_header header;
	int first = liveness->next_sign, n = 0;

	if (comm->messenger == NULL || now_ns - liveness->signed_ns < LIVENESS_SIGN_MS * 1000000 ||
	    messenger_sends(comm->messenger, comm->context, comm->rank))
		return;
	liveness->signed_ns = now_ns;
	header = here(comm);
	for (int i = 0; i < comm->n && n < SIGNS; i++) {
		int rank = (first + i) % comm->n;

		if (comm_is_near(comm, rank) || messenger_lost(comm->messenger, comm->endpoint_of[rank]) ||
		    !is_awaited(comm, rank, now_ns))
			continue;
		if (n++ == 0)
			gone_ask(comm, rank, liveness->gone_turn++);
		liveness->next_sign = (rank + 1) % comm->n;
		if (comm_send(comm, rank, &header, NULL, 0) == CHOIR_PEER_DEAD)
			log_text(LOG_INFO, "%s: rank %d: %s", comm->name, comm->rank, error_text());
	}
}

void liveness_watch(struct choir_comm *comm)
{
	if (comm->messenger == NULL || !messenger_any_lost(comm->messenger))
		return;
	for (int rank = 0; rank < comm->n; rank++)
		if (comm->liveness.ranks[rank].lost_looks < 2 &&
		    messenger_lost(comm->messenger, comm->endpoint_of[rank]))
			comm->liveness.ranks[rank].lost_looks++;
}

bool liveness_lost(const struct choir_comm *comm, int rank)
{
	return comm->liveness.ranks[rank].lost_looks > 1;
}
