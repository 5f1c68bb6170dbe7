/* SPDX-License-Identifier: MIT */
/* Halving and doubling: reduce-scatter by recursive halving, then allgather by recursive doubling.
 *
 * 2 log2(n) rounds, and two more if n is no power of two: the extras are folded in first and get the result last
 * (exchange_fold.h).  A core member sends 2(core-1)/core of the bytes, where core is the largest power of two up to n;
 * folding costs its members all bytes twice more.  Any n.  Scratch: one range.  Each block has one owner, which folds
 * in fold_order.  Rabenseifner, "Optimization of collective reduction operations", ICCS 2004. */
#include "algo/exchange_fold.h"
#include "algo/pattern_block.h"
#include "algo/pattern_halving.h"
#include "algo/pattern_hypercube.h"

#define MAX_ROUNDS   30
#define TAG_FOLD     0
#define TAG_RESULT   1
#define TAG_HALVING  2
#define TAG_DOUBLING (TAG_HALVING + MAX_ROUNDS)
#define TAGS         (TAG_DOUBLING + MAX_ROUNDS)

struct range {
	uint64_t off, len;
};

/* The range of the `bit` parts that id keeps (halving) or has (doubling) in that round. */
static struct range range_of(const struct exchange *x, int id, int bit)
{
	int core = hypercube_core(x->group.n), first = halving_first(id, bit);
	uint64_t off = block_off(x->bytes, core, x->unit, first);

	return (struct range){ off, block_off(x->bytes, core, x->unit, first + bit) - off };
}

static plan_id send_range(const struct exchange *x, int to, uint32_t tag, struct plan_ref from, struct range range,
                          plan_id ready, const char *label)
{
	if (range.len == 0)
		return ready;
	return plan_send(x->plan, to, x->tag + tag, ref_plus(from, range.off), range.len, &ready, 1, label);
}

/* Sends the half that the partner keeps, receives the partner's part of the kept half, and adds it. */
static plan_id halve(const struct exchange *x, int id, int bit, uint32_t tag, struct plan_ref mine, plan_id ready)
{
	int n = x->group.n, partner = group_rank(&x->group, hypercube_member(id ^ bit, n));
	struct range keep = range_of(x, id, bit);
	struct plan_ref kept = ref_plus(mine, keep.off), theirs = plan_at(PLAN_SCRATCH, x->scratch);
	bool mine_first;
	enum plan_raw raw = fold_order(n, x->own_raw, bit * 2 == hypercube_core(n), id, id ^ bit, &mine_first);

	ready = send_range(x, partner, tag, mine, range_of(x, id ^ bit, bit), ready, "halving: give");
	if (keep.len == 0)
		return ready;
	ready = plan_recv(x->plan, partner, x->tag + tag, theirs, keep.len, &ready, 1, "halving: get");
	return plan_reduce(x->plan, ref_plus(x->out, keep.off),
	                   mine_first ? (struct plan_ref[]){ kept, theirs } : (struct plan_ref[]){ theirs, kept }, 2,
	                   raw, bit == 1, keep.len, &ready, 1, "halving: add");
}

static plan_id redouble(const struct exchange *x, int id, int bit, uint32_t tag, plan_id ready)
{
	int partner = group_rank(&x->group, hypercube_member(id ^ bit, x->group.n));
	struct range get = range_of(x, id ^ bit, bit);

	ready = send_range(x, partner, tag, x->out, range_of(x, id, bit), ready, "doubling: give");
	if (get.len == 0)
		return ready;
	return plan_recv(x->plan, partner, x->tag + tag, ref_plus(x->out, get.off), get.len, &ready, 1,
	                 "doubling: get");
}

static plan_id build(const struct exchange *x)
{
	int n = x->group.n, core = hypercube_core(n), id = hypercube_id(x->group.me, n);
	struct plan_ref mine = x->own;
	plan_id ready = x->after;
	uint32_t round = 0;

	if (hypercube_is_extra(x->group.me, n))
		return fold_extra(x, TAG_FOLD, TAG_RESULT);
	if (hypercube_has_folded(id, n)) {
		ready = fold_in(x, TAG_FOLD, plan_at(PLAN_SCRATCH, x->scratch));
		mine = x->out;
	}
	/* 1. reduce-scatter */
	for (int bit = core / 2; bit > 0; bit /= 2, mine = x->out)
		ready = halve(x, id, bit, TAG_HALVING + round++, mine, ready);
	/* 2. allgather */
	round = 0;
	for (int bit = 1; bit < core; bit *= 2)
		ready = redouble(x, id, bit, TAG_DOUBLING + round++, ready);
	return fold_out(x, TAG_RESULT, ready);
}

static uint32_t tags(int members)
{
	(void)members;
	return TAGS;
}

const struct exchange_kind exchange_halving_doubling = {
	.build = build, .scratch = fold_scratch, .limit = fold_limit, .tags = tags
};
