/* SPDX-License-Identifier: MIT */
/* The caller's selection in place of the algorithm's. */
#include "topk/algorithm.h"

#include "base/arithmetic.h"

#include <stdlib.h>

/* Ascending and distinct; returns how many are left. */
static uint64_t sort_distinct(int64_t *ind, uint64_t n)
{
	uint64_t kept = 0;

	qsort(ind, n, sizeof *ind, compare_i64);
	for (uint64_t i = 0; i < n; i++)
		if (kept == 0 || ind[kept - 1] != ind[i])
			ind[kept++] = ind[i];
	return kept;
}

static uint64_t first_beyond(const int64_t *ind, uint64_t n, uint64_t count)
{
	for (uint64_t i = 0; i < n; i++)
		if (ind[i] < 0 || (uint64_t)ind[i] >= count)
			return i;
	return UINT64_MAX;
}

static choir_status select_sorted(struct topk_run *run, const int64_t *ind, uint64_t n)
{
	struct topk_list *list = &run->selected;

	TRY(list_take(list, &run->types, n));
	if (n == 0)
		return CHOIR_SUCCESS;
	index_convert(list->ind.ptr, run->types.form, ind, (struct index_form){ .bytes = 8 }, n);
	list->count = n;
	return CHOIR_SUCCESS;
}

static choir_status sort_chosen(struct topk_run *run, struct script_turn *turn)
{
	const struct operand *at = &run->request.operands[TOPK_AT];
	uint64_t n = run->request.at_count;
	struct pool_block block;
	choir_status st;
	int64_t *ind;

	(void)turn;
	TRY(pool_take(&block, n * sizeof *ind, "the caller's indices"));
	ind = block.ptr;
	if (n > 0)
		index_convert(ind, (struct index_form){ .bytes = 8 }, at->ptr,
		              (struct index_form){ .bytes = at->elem_bytes }, n);
	run->bad_at = first_beyond(ind, n, run->types.n);
	st = select_sorted(run, ind, run->bad_at == UINT64_MAX && n > 0 ? sort_distinct(ind, n) : 0);
	pool_give(&block);
	TRY(st);
	return run->on->gather(run, run->agree);
}

choir_status topk_select_chosen(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return run->on->accumulate(run, sort_chosen);
}
