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

/* Where the caller wants the sum, if that is one tensor of its type. */
static void *where_wanted(const struct topk_run *run)
{
	const struct operand *to = topk_dense(&run->request, 0);
	bool all = run->request.n_tensors == 1 && to->bytes == run->types.n * run->types.elem_bytes;

	return all && to->elem_bytes == run->types.elem_bytes ? to->ptr : NULL;
}

static choir_status sum(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = run->types.n * run->types.elem_bytes;
	struct algo_in in = { .collective = COLLECTIVE_ALLREDUCE, .elem_bytes = run->types.elem_bytes, .bytes = bytes };

	run->sum = where_wanted(run);
	if (run->sum == NULL) {
		TRY(pool_take(&run->dense, bytes, "the summed tensor"));
		run->sum = run->dense.ptr;
	}
	return topk_plan(run, turn, &in, run->whole, bytes, run->sum, bytes, summed);
}

choir_status topk_dense_start(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return run->on->whole(run, sum);
}
