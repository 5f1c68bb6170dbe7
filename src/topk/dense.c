/* SPDX-License-Identifier: MIT */
/* dense: an allreduce of all of acc; nothing stays in the residual.  2 n (P-1)/P words received; also the warm-up of
 * the other algorithms. */
#include "topk/algorithm.h"

static choir_status summed(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	run->step = run->deliver;
	return run->on->clear_all(run);
}

static choir_status sum(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = run->types.n * run->types.elem_bytes;
	struct algo_in in = { .collective = COLLECTIVE_ALLREDUCE, .elem_bytes = run->types.elem_bytes, .bytes = bytes };

	TRY(pool_take(&run->dense, bytes, "the summed tensor"));
	return topk_plan(run, turn, &in, run->whole, bytes, run->dense.ptr, bytes, summed);
}

choir_status topk_dense_start(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return run->on->whole(run, sum);
}
