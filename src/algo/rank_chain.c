/* SPDX-License-Identifier: MIT */
/* allreduce and reduce in rank order: pieces travel from rank 0 to the last rank, each rank adds its own on the right,
 * and the last one sends the sums back along all ranks, or to the root.
 *
 * n - 1 rounds there and n - 1 back (to a root: 1), but pieces of at most message_bytes follow each other, so 2 bytes +
 * 2(n-2) pieces of time; a rank sends all bytes once in each direction, and consecutive ranks of a node send them over
 * the wire once, not once a rank.  Any n > 1, any layout.  Partial sums are rounded to the data type after each rank.
 */
#include "algo/build.h"
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

struct rank_chain {
	const struct algo_in *in;
	struct plan *plan;
	struct window own, sums, results; /* results: for messages to a RECV that is not direct */
	struct chunks chunks;
	int me, last;
	bool to_root;
	plan_id credit, back_credit, got; /* got: the last receive of a result; they are chained */
};

/* Where the last rank sends its results: to the rank before it, or to the root; -1: nowhere. */
static int back_from_last(const struct rank_chain *c)
{
	if (!c->to_root)
		return c->last - 1;
	return c->in->root != c->last ? c->in->root : -1;
}

static plan_id send_on(struct rank_chain *c, int to, uint64_t k, struct plan_ref from, plan_id ready)
{
	c->credit = credit_await(c->plan, to, k, CREDIT_STEP, c->credit);
	return plan_send(c->plan, to, (uint32_t)k, from, chunk_len(c->chunks, k), (plan_id[]){ ready, c->credit }, 2,
	                 "sum on");
}

static void send_back(struct rank_chain *c, int to, uint64_t k, struct plan_ref from, plan_id ready)
{
	c->back_credit = credit_await(c->plan, to, k, CREDIT_STEP, c->back_credit);
	plan_send(c->plan, to, (uint32_t)k, from, chunk_len(c->chunks, k), (plan_id[]){ ready, c->back_credit }, 2,
	          "result back");
}

/* The last rank adds its own input and passes the result to RECV and back. */
static void end_piece(struct rank_chain *c, uint64_t k, struct plan_ref sum, const struct piece *mine, plan_id got)
{
	const struct algo_in *in = c->in;
	uint64_t off = chunk_off(c->chunks, k), len = chunk_len(c->chunks, k);
	bool has_recv = !c->to_root || in->root == in->me, in_recv = has_recv && in->recv_direct;
	struct plan_ref out = in_recv ? plan_at(PLAN_RECV, off) : sum;
	plan_id reduced = plan_reduce(c->plan, out, (struct plan_ref[]){ sum, mine->ref }, 2,
	                              c->last == 1 ? PLAN_RAW_ALL : PLAN_RAW_REST, true, len,
	                              (plan_id[]){ got, mine->ready }, 2, "add mine, the last");

	if (back_from_last(c) >= 0)
		send_back(c, back_from_last(c), k, out, reduced);
	if (has_recv && !in_recv)
		plan_copy(c->plan, plan_at(PLAN_RECV, off), out, len, &reduced, 1, "stage out");
}

/* Returns the step after which this rank's piece k of SEND is not read again. */
static plan_id forth(struct rank_chain *c, uint64_t k)
{
	const struct algo_in *in = c->in;
	uint64_t off = chunk_off(c->chunks, k), len = chunk_len(c->chunks, k);
	struct piece mine = piece_of_send(in, c->plan, &c->own, off, len, false);
	plan_id from = c->plan->n_steps, done;
	struct plan_ref sum;
	uint32_t taken;

	if (c->me == 0) {
		done = send_on(c, 1, k, mine.ref, mine.ready);
		piece_end(&mine, c->plan, &c->own);
		return done;
	}
	sum = window_take(&c->sums, c->plan, &taken);
	done = plan_recv(c->plan, c->me - 1, (uint32_t)k, sum, len, NULL, 0, "sum in");
	credit_give(c->plan, c->me - 1, k, CREDIT_STEP, c->chunks.n, done);
	if (c->me == c->last) {
		end_piece(c, k, sum, &mine, done);
	} else {
		done = plan_reduce(c->plan, sum, (struct plan_ref[]){ sum, mine.ref }, 2,
		                   c->me == 1 ? PLAN_RAW_ALL : PLAN_RAW_REST, false, len,
		                   (plan_id[]){ done, mine.ready }, 2, "add mine");
		send_on(c, c->me + 1, k, sum, done);
	}
	piece_end(&mine, c->plan, &c->own);
	window_busy(&c->sums, c->plan, taken, from);
	return done;
}

/* In place RECV is SEND, so the result is received after `free`. */
static void back(struct rank_chain *c, uint64_t k, plan_id free)
{
	const struct algo_in *in = c->in;
	uint64_t off = chunk_off(c->chunks, k), len = chunk_len(c->chunks, k);
	int from = c->to_root ? c->last : c->me + 1;
	struct piece piece = piece_for_recv(in, c->plan, &c->results, off);

	piece.ready = c->got =
	    plan_recv(c->plan, from, (uint32_t)k, piece.ref, len, (plan_id[]){ c->got, free }, 2, "result in");
	credit_give(c->plan, from, k, CREDIT_STEP, c->chunks.n, c->got);
	if (!c->to_root && c->me > 0)
		send_back(c, c->me - 1, k, piece.ref, piece.ready);
	piece_to_recv(&piece, c->plan, off, len);
	piece_end(&piece, c->plan, &c->results);
}

choir_status rank_chain(const struct algo_in *in, struct plan *plan)
{
	struct rank_chain c = { .in = in,
		                .plan = plan,
		                .me = in->me,
		                .last = in->layout->n - 1,
		                .to_root = in->collective == COLLECTIVE_REDUCE,
		                .credit = PLAN_NO_STEP,
		                .back_credit = PLAN_NO_STEP,
		                .got = PLAN_NO_STEP };
	uint64_t unit = block_unit(in->elem_bytes);
	bool gets = c.me != c.last && (!c.to_root || in->root == in->me);

	c.chunks = chunks_of(in->bytes, message_limit(in, unit), unit);
	window_init(&c.own, plan, in->send_direct || !c.chunks.n ? 0 : c.chunks.each);
	window_init(&c.sums, plan, c.chunks.n ? c.chunks.each : 0);
	window_init(&c.results, plan, in->recv_direct || !c.chunks.n ? 0 : c.chunks.each);
	for (uint64_t k = 0; k < c.chunks.n; k++) {
		plan_id free = forth(&c, k);

		if (gets)
			back(&c, k, free);
	}
	return plan_finish(plan);
}
