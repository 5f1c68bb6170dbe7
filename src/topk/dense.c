/* SPDX-License-Identifier: MIT */
/* dense: an allreduce of all of acc; nothing stays in the residual.  2 n (P-1)/P words received; also the warm-up of
 * the other algorithms. */
#include "topk/algorithm.h"

#include <string.h>

static choir_status summed(struct topk_run *run, struct script_turn *turn)
{
	memset(run->acc.ptr, 0, run->types.n * run->types.elem_bytes);
	if (run->velocity.ptr != NULL)
		memset(run->velocity.ptr, 0, run->types.n * run->types.elem_bytes);
	run->step = run->deliver;
	(void)turn;
	return CHOIR_SUCCESS;
}

choir_status topk_dense_start(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = run->types.n * run->types.elem_bytes;
	struct algo_in in = { .collective = COLLECTIVE_ALLREDUCE, .elem_bytes = run->types.elem_bytes, .bytes = bytes };

	TRY(pool_take(&run->dense, bytes, "the summed tensor"));
	return topk_plan(run, turn, &in, run->acc.ptr, bytes, run->dense.ptr, bytes, summed);
}
