/* SPDX-License-Identifier: MIT */
#include "algo/exchange_fold.h"

#include "algo/pattern_hypercube.h"
#include "algo/pattern_block.h"

plan_id fold_extra(const struct exchange *x, uint32_t fold_tag, uint32_t result_tag)
{
	int partner = group_rank(&x->group, x->group.me - 1);
	plan_id sent = plan_send(x->plan, partner, x->tag + fold_tag, x->own, x->bytes, &x->after, 1, "fold: mine");

	return plan_recv(x->plan, partner, x->tag + result_tag, x->out, x->bytes, &sent, 1, "fold: result");
}

plan_id fold_in(const struct exchange *x, uint32_t tag, struct plan_ref theirs)
{
	int partner = group_rank(&x->group, x->group.me + 1);
	plan_id got = plan_recv(x->plan, partner, x->tag + tag, theirs, x->bytes, &x->after, 1, "fold: theirs");

	return plan_reduce(x->plan, x->out, (struct plan_ref[]){ x->own, theirs }, 2,
	                   x->own_raw ? PLAN_RAW_ALL : PLAN_RAW_NONE, false, x->bytes, &got, 1, "fold: in");
}

plan_id fold_out(const struct exchange *x, uint32_t tag, plan_id ready)
{
	if (!hypercube_has_folded(hypercube_id(x->group.me, x->group.n), x->group.n))
		return ready;
	return plan_send(x->plan, group_rank(&x->group, x->group.me + 1), x->tag + tag, x->out, x->bytes, &ready, 1,
	                 "fold: out");
}

enum plan_raw fold_order(int n, bool own_raw, bool first_round, int id, int partner, bool *mine_first)
{
	bool mine_folded = hypercube_has_folded(id, n), theirs_folded = hypercube_has_folded(partner, n);

	*mine_first = id < partner;
	if (!first_round || !own_raw || (mine_folded && theirs_folded))
		return PLAN_RAW_NONE;
	if (mine_folded == theirs_folded)
		return PLAN_RAW_ALL;
	*mine_first = mine_folded;
	return PLAN_RAW_REST;
}

uint64_t fold_scratch(int members, uint64_t bytes, uint64_t unit)
{
	(void)members, (void)unit;
	return round_up(bytes, 64);
}

uint64_t fold_limit(int members, uint64_t message_bytes)
{
	(void)members;
	return message_bytes;
}
