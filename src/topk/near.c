/* SPDX-License-Identifier: MIT */
/* The work on acc and momentum in host memory; accumulate.c makes them. */
#include "topk/algorithm.h"
#include "topk/vector.h"

#include "sparse/dense.h"

#include <string.h>

static struct select_input all_of(const struct topk_run *run)
{
	return (
	    struct select_input){ .val = run->acc.near.ptr, .elem_bytes = run->types.elem_bytes, .n = run->types.n };
}

static choir_status find_top(struct topk_run *run, uint64_t from, uint64_t n, uint64_t k, topk_step then)
{
	run->step = then;
	if (n == run->types.n)
		return list_select_top(&run->selected, &run->types, run->acc.near.ptr, k, &run->limit);
	return list_append_top(&run->selected, &run->types, run->acc.near.ptr, from, n, k);
}

static choir_status find_limit(struct topk_run *run, struct select_limit limit, topk_step then)
{
	run->step = then;
	return list_select_limit(&run->selected, &run->types, run->acc.near.ptr, limit);
}

static choir_status count(struct topk_run *run, struct select_limit limit, topk_step then)
{
	struct select_input in = all_of(run);
	struct select_output nowhere = { .form = run->types.form };

	run->step = then;
	run->found = in.n > 0 ? select_host(&in, limit, &nowhere) : 0;
	return CHOIR_SUCCESS;
}

static choir_status collect(struct topk_run *run, uint64_t least, uint64_t room, topk_step then)
{
	struct topk_candidates *found = &run->candidates;
	struct select_input in = all_of(run);
	struct select_output out = { .form = run->types.form, .capacity = room };

	run->step = then;
	TRY(list_take(&found->list, &run->types, room));
	out.ind = found->list.ind.ptr;
	out.val = found->list.val.ptr;
	found->least = least;
	found->list.count = select_host(&in, (struct select_limit){ .key = least, .ties = UINT64_MAX }, &out);
	found->complete = found->list.count <= room;
	return CHOIR_SUCCESS;
}

static choir_status mean_std(struct topk_run *run, topk_step then)
{
	run->step = then;
	mean_std_host(run->types.work, run->acc.near.ptr, run->types.n, &run->mean_std);
	return CHOIR_SUCCESS;
}

static choir_status gather(struct topk_run *run, topk_step then)
{
	struct topk_list *list = &run->selected;

	run->step = then;
	dense_gather(list->ind.ptr, run->types.form, list->count, run->types.elem_bytes, 0, run->acc.near.ptr,
	             list->val.ptr);
	return CHOIR_SUCCESS;
}

static choir_status whole(struct topk_run *run, topk_step then)
{
	run->step = then;
	run->whole = run->acc.near.ptr;
	return CHOIR_SUCCESS;
}

/* The zeroes are written to the tensors. */
static void settle(struct topk_run *run)
{
	struct pool_block *const tensors[] = { &run->acc.near, &run->velocity.near };

	for (int i = 0; i < 2; i++)
		if (tensors[i]->ptr != NULL && run->zeroed.all)
			memset(tensors[i]->ptr, 0, run->types.n * run->types.elem_bytes);
		else if (tensors[i]->ptr != NULL)
			dense_zero(run->zeroed.ind.ptr, run->types.form, run->zeroed.count, run->types.elem_bytes, 0,
			           tensors[i]->ptr);
	run->zeroed.count = 0;
	run->zeroed.all = false;
}

/* Note [zeroed].  The entries that leave the residual lie everywhere in it, and each write would move a cache line from
 * memory and back, half as many bytes as the tensor has.  So their indices are kept, and the next call, which goes
 * through all blocks of the residual anyway, takes zero there in place of what the memory holds. */
static choir_status clear(struct topk_run *run, const struct topk_list *list)
{
	uint64_t bytes = list->count * run->types.form.bytes;

	settle(run);
	if (list->count == 0)
		return CHOIR_SUCCESS;
	pool_give(&run->zeroed.ind);
	TRY(pool_take(&run->zeroed.ind, bytes, "the indices that left the residual"));
	memcpy(run->zeroed.ind.ptr, list->ind.ptr, bytes);
	run->zeroed.count = list->count;
	return CHOIR_SUCCESS;
}

static choir_status add(struct topk_run *run, const struct topk_list *list)
{
	if (list->count == 0)
		return CHOIR_SUCCESS;
	settle(run);
	vector_add(&run->types, run->acc.near.ptr, list);
	return CHOIR_SUCCESS;
}

static choir_status merge(struct topk_run *run, struct topk_list *out, const struct pairs *lists, uint32_t n,
                          topk_step then)
{
	run->step = then;
	return list_merge(out, &run->types, lists, n);
}

static choir_status intersect(struct topk_run *run, topk_step then)
{
	run->step = then;
	return list_intersect(&run->involved, &run->types, &run->selected, &run->kept);
}

static choir_status clear_all(struct topk_run *run)
{
	run->zeroed.all = true;
	return CHOIR_SUCCESS;
}

const struct topk_access topk_access_near = { .accumulate = near_accumulate,
	                                      .accumulate_above = near_accumulate_above,
	                                      .accumulate_top = near_accumulate_top,
	                                      .accumulate_sampled = near_accumulate_sampled,
	                                      .collect = collect,
	                                      .find_top = find_top,
	                                      .find_limit = find_limit,
	                                      .count = count,
	                                      .mean_std = mean_std,
	                                      .gather = gather,
	                                      .whole = whole,
	                                      .clear = clear,
	                                      .add = add,
	                                      .clear_all = clear_all,
	                                      .merge = merge,
	                                      .intersect = intersect };
