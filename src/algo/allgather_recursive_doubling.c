/* SPDX-License-Identifier: MIT */
/* allgather by recursive doubling: in the round of `bit` partners whose ranks differ in that bit swap the `bit` blocks
 * that each has.
 *
 * log2(n) rounds; a rank sends all blocks but one, each message up to half of them: short blocks.  n a power of two;
 * ranks in comm order.
 * Scratch: none where whole blocks fit messages and both buffers are direct, else all blocks.  Thakur, Rabenseifner &
 * Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19, 2005. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/fit.h"
#include "algo/packed.h"
#include "algo/pattern_halving.h"
#include "algo/pattern_hypercube.h"

#define MAX_ROUNDS 32

static plan_id swap_all(const struct packed *p, uint64_t k, struct plan_ref blocks, plan_id ready)
{
	int n = p->in->layout->n, me = p->in->me;
	uint64_t len = packed_len(p, k);
	uint32_t tag = (uint32_t)k * MAX_ROUNDS;

	for (int bit = 1; bit < n; bit *= 2, tag++) {
		struct plan_ref have = ref_plus(blocks, (uint64_t)halving_first(me, bit) * len);
		struct plan_ref get = ref_plus(blocks, (uint64_t)halving_first(me ^ bit, bit) * len);

		ready = plan_send(p->plan, me ^ bit, tag, have, (uint64_t)bit * len, &ready, 1, "rd: mine so far");
		ready = plan_recv(p->plan, me ^ bit, tag, get, (uint64_t)bit * len, &ready, 1, "rd: theirs");
	}
	return ready;
}

/* The rounds in RECV itself, with whole blocks at their final positions. */
static void in_recv(const struct packed *p)
{
	const struct algo_in *in = p->in;
	struct plan_ref mine = plan_at(PLAN_RECV, (uint64_t)in->me * in->bytes);
	plan_id ready = PLAN_NO_STEP;

	if (!in->in_place)
		ready = plan_copy(p->plan, mine, plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	swap_all(p, 0, plan_at(PLAN_RECV, 0), ready);
}

static void in_scratch(struct packed *p, uint64_t k)
{
	struct plan_ref area = packed_area(p, k), mine = ref_plus(area, (uint64_t)p->in->me * packed_len(p, k));
	plan_id *done = &p->done[k % PACKED_AREAS];

	*done = plan_copy(p->plan, mine, plan_at(PLAN_SEND, chunk_off(p->chunks, k)), packed_len(p, k), done, 1,
	                  "rd: mine");
	*done = packed_out(p, k, area, 0, p->in->layout->n, swap_all(p, k, area, *done));
}

const char *allgather_recursive_doubling_unfit(const struct algo_in *in)
{
	const char *why = fit_network(in);

	if (why)
		return why;
	if (hypercube_core(in->layout->n) != in->layout->n)
		return "needs a power of two of ranks";
	return packed_unfit(in, in->layout->n / 2);
}

choir_status allgather_recursive_doubling(const struct algo_in *in, struct plan *plan)
{
	struct packed packed;
	bool direct =
	    in->send_direct && in->recv_direct && in->bytes * (uint64_t)in->layout->n / 2 <= in->message_bytes;

	packed_init(&packed, in, plan, in->layout->n / 2, direct ? 0 : in->layout->n);
	if (direct && in->bytes)
		in_recv(&packed);
	for (uint64_t k = 0; !direct && k < packed.chunks.n; k++)
		in_scratch(&packed, k);
	return plan_finish(plan);
}
