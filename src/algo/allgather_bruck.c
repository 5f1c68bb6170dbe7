/* SPDX-License-Identifier: MIT */
/* allgather by Bruck's algorithm: in the round of distance d a rank sends the d blocks gathered so far, its own first,
 * to the rank d before it and receives d more from the rank d after it; at the end the blocks are rotated.
 *
 * log2(n) rounds (rounded up); a rank sends all blocks but one, each message up to half of them, packed: short blocks.
 * Any n > 1; ranks in comm order.  Scratch: all blocks.  Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient algorithms
 * for all-to-all communications in multiport message-passing systems", IEEE TPDS 8, 1997. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/fit.h"
#include "algo/packed.h"
#include "algo/pattern_ring.h"

#define MAX_ROUNDS 32

static void add_chunk(struct packed *p, uint64_t k)
{
	int n = p->in->layout->n, me = p->in->me, held;
	uint64_t len = packed_len(p, k);
	struct plan_ref area = packed_area(p, k);
	plan_id *done = &p->done[k % PACKED_AREAS];
	plan_id ready =
	    plan_copy(p->plan, area, plan_at(PLAN_SEND, chunk_off(p->chunks, k)), len, done, 1, "bruck: mine");
	uint32_t tag = (uint32_t)k * MAX_ROUNDS;

	for (held = 1; held < n; held += held, tag++) {
		uint64_t bytes = (uint64_t)(held < n - held ? held : n - held) * len;

		ready = plan_send(p->plan, ring_at(me - held, n), tag, area, bytes, &ready, 1, "bruck: all so far");
		ready = plan_recv(p->plan, ring_at(me + held, n), tag, ref_plus(area, (uint64_t)held * len), bytes,
		                  &ready, 1, "bruck: more");
	}
	ready = packed_out(p, k, area, me, n - me, ready);
	*done = packed_out(p, k, ref_plus(area, (uint64_t)(n - me) * len), 0, me, ready);
}

const char *allgather_bruck_unfit(const struct algo_in *in)
{
	const char *why = fit_network(in);

	return why ? why : packed_unfit(in, in->layout->n / 2);
}

choir_status allgather_bruck(const struct algo_in *in, struct plan *plan)
{
	struct packed packed;

	packed_init(&packed, in, plan, in->layout->n / 2, in->layout->n);
	for (uint64_t k = 0; k < packed.chunks.n; k++)
		add_chunk(&packed, k);
	return plan_finish(plan);
}
