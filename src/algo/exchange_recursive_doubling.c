/* SPDX-License-Identifier: MIT */
/* Recursive doubling: in round r partners whose ids differ in bit r exchange their partial results and both reduce
 * them.
 *
 * log2(n) rounds, and two more if n is no power of two: the extras are folded in first and get the result last
 * (exchange_fold.h).  Each round sends all bytes.  Any n.  Scratch: one range.  All members compute every result from
 * the same operands in the same order (fold_order).  Thakur, Rabenseifner & Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 19, 2005. */
#include "algo/exchange_fold.h"
#include "algo/pattern_block.h"
#include "algo/pattern_hypercube.h"

#define MAX_ROUNDS 30
#define TAG_FOLD   0
#define TAG_ROUND  1
#define TAG_RESULT (TAG_ROUND + MAX_ROUNDS)

static plan_id build(const struct exchange *x)
{
	int n = x->group.n, core = hypercube_core(n), id = hypercube_id(x->group.me, n);
	struct plan_ref mine = x->own, theirs = plan_at(PLAN_SCRATCH, x->scratch);
	plan_id ready = x->after;

	if (hypercube_is_extra(x->group.me, n))
		return fold_extra(x, TAG_FOLD, TAG_RESULT);
	if (hypercube_has_folded(id, n)) {
		ready = fold_in(x, TAG_FOLD, theirs);
		mine = x->out;
	}
	for (int round = 0, bit = 1; bit < core; round++, bit *= 2) {
		int partner = group_rank(&x->group, hypercube_member(id ^ bit, n));
		uint32_t tag = x->tag + TAG_ROUND + (uint32_t)round;
		bool mine_first;
		enum plan_raw raw = fold_order(n, x->own_raw, round == 0, id, id ^ bit, &mine_first);
		plan_id sent, got;

		sent = plan_send(x->plan, partner, tag, mine, x->bytes, &ready, 1, "rd: swap");
		got = plan_recv(x->plan, partner, tag, theirs, x->bytes, &ready, 1, "rd: swap");
		ready =
		    plan_reduce(x->plan, x->out,
		                mine_first ? (struct plan_ref[]){ mine, theirs } : (struct plan_ref[]){ theirs, mine },
		                2, raw, bit * 2 == core, x->bytes, (plan_id[]){ sent, got }, 2, "rd: add");
		mine = x->out;
	}
	return fold_out(x, TAG_RESULT, ready);
}

static uint32_t tags(int members)
{
	(void)members;
	return TAG_RESULT + 1;
}

const struct exchange_kind exchange_recursive_doubling = {
	.build = build, .scratch = fold_scratch, .limit = fold_limit, .tags = tags
};
