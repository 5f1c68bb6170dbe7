/* SPDX-License-Identifier: MIT */
/* The work on acc and momentum in host memory; accumulate.c makes them. */
#include "topk/algorithm.h"
#include "topk/vector.h"

#include "sparse/dense.h"

#include <string.h>

static struct select_input all_of(const struct topk_run *run)
{
	return (struct select_input){ .val = run->acc.near.ptr,
		                      .elem_bytes = run->types.elem_bytes,
		                      .n = run->types.n };
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

static choir_status moments(struct topk_run *run, topk_step then)
{
	run->step = then;
	moments_host(run->types.work, run->acc.near.ptr, run->types.n, &run->moments);
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

static choir_status clear(struct topk_run *run, const struct topk_list *list)
{
	struct pool_block *const tensors[] = { &run->acc.near, &run->velocity.near };

	for (int i = 0; i < 2; i++)
		if (tensors[i]->ptr != NULL)
			dense_zero(list->ind.ptr, run->types.form, list->count, run->types.elem_bytes, 0,
			           tensors[i]->ptr);
	return CHOIR_SUCCESS;
}

static choir_status add(struct topk_run *run, const struct topk_list *list)
{
	vector_add(&run->types, run->acc.near.ptr, list);
	return CHOIR_SUCCESS;
}

static choir_status clear_all(struct topk_run *run)
{
	struct topk_tensor *const tensors[] = { &run->acc, &run->velocity };

	for (int i = 0; i < 2; i++)
		if (tensors[i]->near.ptr != NULL)
			TRY(tensor_zero(tensors[i], NULL, run->types.n * run->types.elem_bytes,
			                run->types.elem_bytes));
	return CHOIR_SUCCESS;
}

const struct topk_place topk_place_near = { .accumulate = near_accumulate,
	                                    .accumulate_above = near_accumulate_above,
	                                    .accumulate_top = near_accumulate_top,
	                                    .accumulate_sampled = near_accumulate_sampled,
	                                    .collect = collect,
	                                    .find_top = find_top,
	                                    .find_limit = find_limit,
	                                    .count = count,
	                                    .moments = moments,
	                                    .gather = gather,
	                                    .whole = whole,
	                                    .clear = clear,
	                                    .add = add,
	                                    .clear_all = clear_all };
