/* SPDX-License-Identifier: MIT */
/* scan and exscan along a chain: each rank receives the prefix of the ranks before it, adds its input, and sends the
 * sum to the next rank.
 *
 * n - 1 rounds of all bytes, in pieces of at most message_bytes that follow each other.  Any n > 1.  The folds are left
 * folds in rank order. */
#include "algo/build.h"
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/prefix.h"
#include "algo/window.h"

struct prefix_chain {
	const struct algo_in *in;
	struct plan *plan;
	struct window inputs, arrivals, sums;
	struct chunks chunks;
	plan_id got, credit;
};

static plan_id recv_prefix(struct prefix_chain *c, uint64_t k, struct plan_ref theirs)
{
	c->got =
	    plan_recv(c->plan, c->in->me - 1, (uint32_t)k, theirs, chunk_len(c->chunks, k), &c->got, 1, "prefix in");
	credit_give(c->plan, c->in->me - 1, k, CREDIT_STEP, c->chunks.n, c->got);
	return c->got;
}

static void send_on(struct prefix_chain *c, uint64_t k, struct plan_ref sum, plan_id ready)
{
	if (c->in->me + 1 == c->in->layout->n)
		return;
	c->credit = credit_await(c->plan, c->in->me + 1, k, CREDIT_STEP, c->credit);
	plan_send(c->plan, c->in->me + 1, (uint32_t)k, sum, chunk_len(c->chunks, k), (plan_id[]){ ready, c->credit }, 2,
	          "prefix out");
}

/* sum = theirs (none on rank 0) op this rank's input. */
static plan_id add_own(struct prefix_chain *c, uint64_t k, struct plan_ref sum, const struct plan_ref *theirs,
                       plan_id got)
{
	struct piece own =
	    piece_of_send(c->in, c->plan, &c->inputs, chunk_off(c->chunks, k), chunk_len(c->chunks, k), false);
	plan_id done;

	if (theirs != NULL)
		plan_source(c->plan, *theirs);
	plan_source(c->plan, own.ref);
	done = plan_reduce(c->plan, sum, NULL, 0, theirs != NULL ? PLAN_RAW_REST : PLAN_RAW_ALL, false,
	                   chunk_len(c->chunks, k), (plan_id[]){ got, own.ready }, 2, "add own");
	piece_end(&own, c->plan, &c->inputs);
	return done;
}

static void scan_piece(struct prefix_chain *c, uint64_t k)
{
	uint64_t off = chunk_off(c->chunks, k), len = chunk_len(c->chunks, k);
	plan_id from = c->plan->n_steps, got = PLAN_NO_STEP;
	struct plan_ref theirs;
	struct piece out;
	uint32_t taken = 0;

	if (c->in->me > 0) {
		theirs = window_take(&c->arrivals, c->plan, &taken);
		got = recv_prefix(c, k, theirs);
	}
	/* The sum's buffer is free again once the last piece in it was sent; the join is the first step that uses it.
	 */
	out = piece_for_recv(c->in, c->plan, &c->sums, off);
	out.ready = plan_join(c->plan, &got, 1, "sum free");
	out.ready = add_own(c, k, out.ref, c->in->me > 0 ? &theirs : NULL, out.ready);
	if (c->in->me > 0)
		window_busy(&c->arrivals, c->plan, taken, from);
	send_on(c, k, out.ref, out.ready);
	piece_to_recv(&out, c->plan, off, len);
	piece_end(&out, c->plan, &c->sums);
}

static void exscan_piece(struct prefix_chain *c, uint64_t k)
{
	uint64_t off = chunk_off(c->chunks, k), len = chunk_len(c->chunks, k);
	bool last = c->in->me + 1 == c->in->layout->n;
	plan_id from = c->plan->n_steps, got = PLAN_NO_STEP, summed = PLAN_NO_STEP;
	uint32_t arrival = 0, taken;
	struct plan_ref theirs, sum;

	if (c->in->me > 0) {
		theirs = window_take(&c->arrivals, c->plan, &arrival);
		got = recv_prefix(c, k, theirs);
	}
	if (!last) {
		plan_id start = c->plan->n_steps;

		sum = window_take(&c->sums, c->plan, &taken);
		summed = plan_join(c->plan, &got, 1, "sum free");
		summed = add_own(c, k, sum, c->in->me > 0 ? &theirs : NULL, summed);
		send_on(c, k, sum, summed);
		window_busy(&c->sums, c->plan, taken, start);
	}
	if (c->in->me == 0)
		return;
	/* In place RECV is the input, which the sum has read by then. */
	plan_copy(c->plan, plan_at(PLAN_RECV, off), theirs, len, (plan_id[]){ got, summed }, 2, "prefix");
	window_busy(&c->arrivals, c->plan, arrival, from);
}

choir_status prefix_chain(const struct algo_in *in, struct plan *plan)
{
	uint64_t unit = block_unit(in->elem_bytes);
	struct prefix_chain c = { .in = in,
		                  .plan = plan,
		                  .chunks = chunks_of(in->bytes, message_limit(in, unit), unit),
		                  .got = PLAN_NO_STEP,
		                  .credit = PLAN_NO_STEP };
	bool scans = in->collective == COLLECTIVE_SCAN;
	uint64_t each = c.chunks.n ? c.chunks.each : 0;

	window_init(&c.inputs, plan, in->send_direct ? 0 : each);
	window_init(&c.arrivals, plan, in->me > 0 ? each : 0);
	window_init(&c.sums, plan, scans && in->recv_direct ? 0 : each);
	for (uint64_t k = 0; k < c.chunks.n; k++)
		if (scans)
			scan_piece(&c, k);
		else
			exscan_piece(&c, k);
	return plan_finish(plan);
}
