/* SPDX-License-Identifier: MIT */
/* gtopk: a binomial tree to rank 0, then a broadcast.  A rank that receives adds the list to its own, keeps the k
 * largest and takes the others, which are sums of several ranks by then, into its own residual.  2 k log2(P) words to
 * rank 0 and 2 k from it; ceil(log2 P) rounds of blocks of fixed size and the broadcast's; any P.  Shi et al. 2019,
 * arXiv:1901.04359. */
#include "topk/algorithm.h"

#include <string.h>

static choir_status tree_round(struct topk_run *run, struct script_turn *turn);

static choir_status broadcast_done(struct topk_run *run, struct script_turn *turn)
{
	struct pairs list = topk_fixed_read(run, run->k, run->in.ptr);

	(void)turn;
	run->stats.pairs_received += run->env.me != 0 ? list.count : 0;
	run->step = run->deliver;
	TRY(topk_widen(run, &list, 1));
	return list_merge(&run->kept, &run->types, &list, 1);
}

static choir_status broadcast(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = topk_fixed_bytes(run, run->k);
	struct algo_in in = { .collective = COLLECTIVE_BROADCAST, .elem_bytes = 8, .bytes = bytes, .root = 0 };
	struct pairs mine = list_pairs(&run->held, &run->types);

	pool_give(&run->out);
	pool_give(&run->in);
	TRY(pool_take(&run->out, bytes, "the result"));
	TRY(pool_take(&run->in, bytes, "the result"));
	if (run->env.me == 0) {
		TRY(topk_round_sums(run, &run->held));
		topk_fixed_write(run, &mine, run->k, run->out.ptr);
	}
	return topk_plan(run, turn, &in, run->out.ptr, bytes, run->in.ptr, bytes, broadcast_done);
}

static choir_status next_round(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	run->distance *= 2;
	run->step = run->distance < run->env.layout->n ? tree_round : broadcast;
	return CHOIR_SUCCESS;
}

/* Keeps the k largest of the sum of this rank's pairs and those that came. */
static choir_status keep_largest(struct topk_run *run, struct script_turn *turn)
{
	struct topk_list rest = { .count = 0 };
	struct select_limit limit;
	choir_status st;

	(void)turn;
	run->step = next_round;
	topk_hold_sum(run);
	TRY(list_top(&run->held, &run->types, run->k, &limit));
	TRY(list_split(&run->held, &run->types, limit, &rest));
	st = run->on->add(run, &rest);
	list_free(&rest);
	return st;
}

static choir_status round_done(struct topk_run *run, struct script_turn *turn)
{
	int me = run->env.me, d = run->distance;
	struct pairs both[2] = { list_pairs(&run->held, &run->types) };

	if (me % (2 * d) != 0 || me + d >= run->env.layout->n)
		return next_round(run, turn);
	both[1] = topk_fixed_read(run, run->k, run->in.ptr);
	run->stats.pairs_received += both[1].count;
	TRY(topk_widen(run, &both[1], 1));
	return run->on->merge(run, &run->total, both, 2, keep_largest);
}

static choir_status tree_round(struct topk_run *run, struct script_turn *turn)
{
	int n = run->env.layout->n, me = run->env.me, d = run->distance;
	struct pairs mine = list_pairs(&run->held, &run->types);

	memset(run->matrix, 0, (size_t)n * (size_t)n * sizeof *run->matrix);
	for (int s = d; s < n; s += 2 * d)
		run->matrix[s * n + s - d] = 1;
	pool_give(&run->out);
	TRY(pool_take(&run->out, topk_fixed_bytes(run, run->k), "pairs to send"));
	if (me % (2 * d) == d) {
		TRY(topk_round_sums(run, &run->held));
		topk_fixed_write(run, &mine, run->k, run->out.ptr);
	}
	return topk_send_fixed(run, turn, topk_fixed_bytes(run, run->k), round_done);
}

choir_status topk_tree_start(struct topk_run *run, struct script_turn *turn)
{
	struct pairs mine = list_pairs(&run->selected, &run->types);

	(void)turn;
	run->distance = 1;
	run->step = run->env.layout->n > 1 ? tree_round : broadcast;
	return list_merge(&run->held, &run->types, &mine, 1);
}
