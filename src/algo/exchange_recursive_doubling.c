/* SPDX-License-Identifier: MIT */
/* Recursive doubling: in round r partners whose numbers differ in bit r swap everything they have and both reduce it.
 *
 * Rounds log2(n), and two more for an n that is no power of two (the ranks too many are folded in first and served last); each sends all
 * the bytes.  Any n.  Scratch: one range.  Every result is computed by all members at once, from the same operands in the same order: the
 * partner with the lower number first; in the first round one that holds a folded sum before one that does not, because raw values must
 * come after partial ones (enum plan_raw). Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH",
 * IJHPCA 19, 2005. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_hypercube.h"

#define MAX_ROUNDS 30
#define TAG_FOLD 0
#define TAG_ROUND 1
#define TAG_RESULT (TAG_ROUND + MAX_ROUNDS)

/* The one too many: gives its data away and gets the result. */
static plan_id build_extra(const struct exchange *x)
{
	int partner = group_rank(&x->group, x->group.me - 1);
	plan_id sent = plan_send(x->plan, partner, x->tag + TAG_FOLD, x->own, x->bytes, &x->after, 1, "rd: fold");

	return plan_recv(x->plan, partner, x->tag + TAG_RESULT, x->out, x->bytes, &sent, 1, "rd: result");
}

/* Takes an extra's data in: own, then theirs. */
static plan_id fold(const struct exchange *x, struct plan_ref theirs)
{
	int partner = group_rank(&x->group, x->group.me + 1);
	plan_id got = plan_recv(x->plan, partner, x->tag + TAG_FOLD, theirs, x->bytes, &x->after, 1, "rd: folded in");

	return plan_reduce(x->plan, x->out, (struct plan_ref[]){ x->own, theirs }, 2, x->own_raw ? PLAN_RAW_ALL : PLAN_RAW_NONE, false,
	                   x->bytes, &got, 1, "rd: fold");
}

/* The order of the two operands and what of them is raw, the same for both partners. */
static enum plan_raw order_of(const struct exchange *x, int round, int id, int partner, bool *mine_first)
{
	bool mine_folded = hypercube_has_folded(id, x->group.n), theirs_folded = hypercube_has_folded(partner, x->group.n);

	*mine_first = id < partner;
	if (round > 0 || !x->own_raw || (mine_folded && theirs_folded))
		return PLAN_RAW_NONE;
	if (mine_folded == theirs_folded)
		return PLAN_RAW_ALL;
	*mine_first = mine_folded;
	return PLAN_RAW_REST;
}

static plan_id build(const struct exchange *x)
{
	int n = x->group.n, core = hypercube_core(n), id = hypercube_id(x->group.me, n);
	struct plan_ref mine = x->own, theirs = plan_at(PLAN_SCRATCH, x->scratch);
	plan_id ready = x->after, sent = x->after;

	if (hypercube_is_extra(x->group.me, n))
		return build_extra(x);
	if (hypercube_has_folded(id, n)) {
		ready = fold(x, theirs);
		mine = x->out;
	}
	for (int round = 0, bit = 1; bit < core; round++, bit *= 2) {
		int partner = group_rank(&x->group, hypercube_member(id ^ bit, n));
		uint32_t tag = x->tag + TAG_ROUND + (uint32_t)round;
		bool mine_first;
		enum plan_raw raw = order_of(x, round, id, id ^ bit, &mine_first);
		plan_id got;

		sent = plan_send(x->plan, partner, tag, mine, x->bytes, &ready, 1, "rd: swap");
		got = plan_recv(x->plan, partner, tag, theirs, x->bytes, &ready, 1, "rd: swap");
		ready = plan_reduce(x->plan, x->out,
		                    mine_first ? (struct plan_ref[]){ mine, theirs } : (struct plan_ref[]){ theirs, mine }, 2, raw,
		                    bit * 2 == core, x->bytes, (plan_id[]){ sent, got }, 2, "rd: add");
		mine = x->out;
	}
	if (!hypercube_has_folded(id, n))
		return ready;
	return plan_send(x->plan, group_rank(&x->group, x->group.me + 1), x->tag + TAG_RESULT, x->out, x->bytes, &ready, 1, "rd: result");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	(void)members, (void)unit;
	return round_up(bytes, 64);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	(void)members;
	return message_bytes;
}

static uint32_t tags(int members)
{
	(void)members;
	return TAG_RESULT + 1;
}

const struct exchange_kind exchange_recursive_doubling = { .build = build, .scratch = scratch, .limit = limit, .tags = tags };
