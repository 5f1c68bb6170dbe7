/* SPDX-License-Identifier: MIT */
/* alltoall by Bruck's algorithm: the blocks are sorted by the distance to their receiver; in the round of distance d
 * all blocks whose distance has bit d move d ranks on, in one message.
 *
 * log2(n) rounds (rounded up) of about half of all blocks, packed: short blocks, which travel log2(n)/2 times.  Any n >
 * 1; ranks in comm order. Scratch: all blocks, twice.  Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient algorithms for
 * all-to-all communications in multiport message-passing systems", IEEE TPDS 8, 1997. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/fit.h"
#include "algo/packed.h"
#include "algo/pattern_ring.h"

#define MAX_ROUNDS 32

/* Packs the blocks whose distance has bit d, which lie apart, into `together`, or unpacks them (back); returns the
 * bytes. */
static uint64_t gather_bit(const struct packed *p, uint64_t len, struct plan_ref apart, struct plan_ref together, int d,
                           bool back, plan_id *ready)
{
	int n = p->in->layout->n;
	uint64_t at = 0;

	for (int first = d; first < n; first += 2 * d) {
		uint64_t bytes = (uint64_t)(d < n - first ? d : n - first) * len;
		struct plan_ref there = ref_plus(apart, (uint64_t)first * len), here = ref_plus(together, at);

		*ready = back ? plan_copy(p->plan, there, here, bytes, ready, 1, "bruck: apart")
		              : plan_copy(p->plan, here, there, bytes, ready, 1, "bruck: together");
		at += bytes;
	}
	return at;
}

static void add_chunk(struct packed *p, uint64_t k)
{
	int n = p->in->layout->n, me = p->in->me;
	uint64_t len = packed_len(p, k), half = (uint64_t)(n / 2) * len;
	struct plan_ref area = packed_area(p, k), out = ref_plus(area, (uint64_t)n * len), in = ref_plus(out, half);
	plan_id *done = &p->done[k % PACKED_AREAS], ready;
	uint32_t tag = (uint32_t)k * MAX_ROUNDS;

	/* 1. sort this rank's blocks by distance: the block for rank me + i to position i */
	ready = packed_in(p, k, area, me, n - me, *done);
	ready = packed_in(p, k, ref_plus(area, (uint64_t)(n - me) * len), 0, me, ready);
	/* 2. rounds */
	for (int d = 1; d < n; d *= 2, tag++) {
		uint64_t bytes = gather_bit(p, len, area, out, d, false, &ready);

		ready = plan_send(p->plan, ring_at(me + d, n), tag, out, bytes, &ready, 1, "bruck: on");
		ready = plan_recv(p->plan, ring_at(me - d, n), tag, in, bytes, &ready, 1, "bruck: in");
		gather_bit(p, len, area, in, d, true, &ready);
	}
	/* 3. position i has the block from rank me - i */
	for (int i = 0; i < n; i++)
		ready = packed_out(p, k, ref_plus(area, (uint64_t)i * len), ring_at(me - i, n), 1, ready);
	*done = ready;
}

const char *alltoall_bruck_unfit(const struct algo_in *in)
{
	const char *why = fit_network(in);

	return why ? why : packed_unfit(in, in->layout->n / 2);
}

choir_status alltoall_bruck(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n;
	struct packed packed;

	packed_init(&packed, in, plan, n / 2, n + n / 2 * 2);
	for (uint64_t k = 0; k < packed.chunks.n; k++)
		add_chunk(&packed, k);
	return plan_finish(plan);
}
