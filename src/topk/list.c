/* SPDX-License-Identifier: MIT */
#include "topk/list.h"

#include <string.h>

#define WINDOW 16384 /* indices whose flags the first cache holds */

#define INDEX   int32_t
#define VALUE   float
#define BITS    uint32_t
#define NAME(x) x##_4_4
#include "topk/list_type.inc"
#define INDEX   int32_t
#define VALUE   double
#define BITS    uint64_t
#define NAME(x) x##_4_8
#include "topk/list_type.inc"
#define INDEX   int64_t
#define VALUE   float
#define BITS    uint32_t
#define NAME(x) x##_8_4
#include "topk/list_type.inc"
#define INDEX   int64_t
#define VALUE   double
#define BITS    uint64_t
#define NAME(x) x##_8_8
#include "topk/list_type.inc"

struct topk_types topk_types_of(uint64_t n, choir_dtype dtype)
{
	struct topk_types types = { .n = n, .work = dtype == CHOIR_F64 ? CHOIR_F64 : CHOIR_F32 };

	types.elem_bytes = types.wire_bytes = (uint32_t)choir_dtype_bytes(types.work);
	types.wire = types.work;
	types.form = index_form_of((struct index_range){ .lo = 0, .hi = (int64_t)n - 1 });
	return types;
}

choir_status list_take(struct topk_list *list, const struct topk_types *types, uint64_t room)
{
	choir_status st;

	list_free(list);
	TRY(pool_take(&list->ind, room * types->form.bytes, "the indices of pairs"));
	st = pool_take(&list->val, room * types->elem_bytes, "the values of pairs");
	if (st != CHOIR_SUCCESS)
		list_free(list);
	return st;
}

void list_free(struct topk_list *list)
{
	pool_give(&list->ind);
	pool_give(&list->val);
	list->count = 0;
}

struct pairs list_part(const struct topk_list *list, const struct topk_types *types, uint64_t from, uint64_t end)
{
	return (struct pairs){ .ind = (const unsigned char *)list->ind.ptr + from * types->form.bytes,
		               .rows = (const unsigned char *)list->val.ptr + from * types->elem_bytes,
		               .count = end - from,
		               .form = types->form };
}

struct pairs list_pairs(const struct topk_list *list, const struct topk_types *types)
{
	if (list->count == 0)
		return (struct pairs){ .form = types->form };
	return list_part(list, types, 0, list->count);
}

uint64_t list_find(const struct topk_list *list, const struct topk_types *types, uint64_t index)
{
	uint64_t low = 0, high = list->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if ((uint64_t)index_at(list->ind.ptr, types->form, middle) < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put(struct topk_list *list, const struct topk_types *types, int64_t index, const void *value)
{
	if (types->form.bytes == 4)
		((int32_t *)list->ind.ptr)[list->count] = (int32_t)(index - types->form.base);
	else
		((int64_t *)list->ind.ptr)[list->count] = index - types->form.base;
	memcpy((unsigned char *)list->val.ptr + list->count * types->elem_bytes, value, types->elem_bytes);
	list->count++;
}

static struct select_input tensor_input(const struct topk_types *types, const void *tensor, uint64_t n)
{
	return (struct select_input){ .val = tensor, .elem_bytes = types->elem_bytes, .n = n };
}

choir_status list_select_top(struct topk_list *list, const struct topk_types *types, const void *tensor, uint64_t k,
                             struct select_limit *limit_p)
{
	struct select_input in = tensor_input(types, tensor, types->n);
	struct select_output out = { .form = types->form, .capacity = k };

	TRY(list_take(list, types, k));
	out.ind = list->ind.ptr;
	out.val = list->val.ptr;
	if (k > 0)
		TRY(select_top(&in, k, &out, limit_p));
	list->count = k;
	return CHOIR_SUCCESS;
}

choir_status list_select_limit(struct topk_list *list, const struct topk_types *types, const void *tensor,
                               struct select_limit limit)
{
	struct select_input in = tensor_input(types, tensor, types->n);
	struct select_output out = { .form = types->form };
	uint64_t count = types->n > 0 ? select_host(&in, limit, &out) : 0;

	TRY(list_take(list, types, count));
	out.ind = list->ind.ptr;
	out.val = list->val.ptr;
	out.capacity = count;
	if (count > 0)
		(void)select_host(&in, limit, &out);
	list->count = count;
	return CHOIR_SUCCESS;
}

choir_status list_append_top(struct topk_list *list, const struct topk_types *types, const void *tensor, uint64_t from,
                             uint64_t n, uint64_t k)
{
	const unsigned char *span = (const unsigned char *)tensor + from * types->elem_bytes;
	struct select_input in = tensor_input(types, span, n);
	struct select_output out = { .form = types->form, .capacity = k };
	struct topk_list found = { .count = 0 };
	struct select_limit limit;
	choir_status st = list_take(&found, types, k);

	out.ind = found.ind.ptr;
	out.val = found.val.ptr;
	if (st == CHOIR_SUCCESS && k > 0)
		st = select_top(&in, k, &out, &limit);
	for (uint64_t i = 0; i < k && st == CHOIR_SUCCESS; i++)
		put(list, types, (int64_t)from + index_at(found.ind.ptr, types->form, i),
		    (unsigned char *)found.val.ptr + i * types->elem_bytes);
	list_free(&found);
	return st;
}

static void append_pairs(struct topk_list *list, const struct topk_types *types, const struct pairs *from,
                         struct select_limit limit, uint64_t count)
{
	struct select_output in = { .ind = (void *)from->ind, .form = types->form, .val = (void *)from->rows };
	struct select_output out = { .ind = (unsigned char *)list->ind.ptr + list->count * types->form.bytes,
		                     .form = types->form,
		                     .val = (unsigned char *)list->val.ptr + list->count * types->elem_bytes,
		                     .capacity = count };

	list->count += select_pairs(&in, from->count, types->elem_bytes, limit, &out, count);
}

choir_status list_filter(struct topk_list *list, const struct topk_types *types, const struct topk_list *from,
                         struct select_limit limit, uint64_t count)
{
	struct pairs pairs = list_pairs(from, types);

	TRY(list_take(list, types, count));
	append_pairs(list, types, &pairs, limit, count);
	return CHOIR_SUCCESS;
}

void list_append_largest(struct topk_list *list, const struct topk_types *types, struct pairs from, uint64_t k)
{
	struct select_input in = tensor_input(types, from.rows, from.count);

	append_pairs(list, types, &from, select_radix(&in, k), k);
}

static choir_status merge(struct topk_list *out, const struct topk_types *types, struct coalesce *job)
{
	bool done;

	TRY(coalesce_count(job, &done));
	TRY(list_take(out, types, job->count));
	out->count = job->count;
	return coalesce_fill(job, out->ind.ptr, types->form, out->val.ptr, &done);
}

static void add_source(struct coalesce_call *call, struct coalesce_source *sources, const struct pairs *list)
{
	struct index_range range;

	if (list->count == 0)
		return;
	range = (struct index_range){ .lo = index_at(list->ind, list->form, 0),
		                      .hi = index_at(list->ind, list->form, list->count - 1) };
	call->range = index_range_join(call->range, range);
	sources[call->n_src++] = (struct coalesce_source){ .pairs = *list };
}

/* Lists of one form are added as they lie; of many, each of which is short beside their sum, the bitmap of coalesce.h
 * finds places faster. */
static choir_status add_two(struct topk_list *out, const struct topk_types *types, const struct pairs *a,
                            const struct pairs *b)
{
	bool narrow = types->elem_bytes == 4;

	TRY(list_take(out, types, a->count + b->count));
	if (types->form.bytes == 4)
		out->count =
		    narrow ? add_4_4(a, b, out->ind.ptr, out->val.ptr) : add_4_8(a, b, out->ind.ptr, out->val.ptr);
	else
		out->count =
		    narrow ? add_8_4(a, b, out->ind.ptr, out->val.ptr) : add_8_8(a, b, out->ind.ptr, out->val.ptr);
	return CHOIR_SUCCESS;
}

void list_merge_call(struct coalesce_call *call, struct coalesce_source *sources, const struct topk_types *types,
                     const struct pairs *lists, uint32_t n)
{
	*call = (struct coalesce_call){ .dtype = types->work,
		                        .op = CHOIR_OP_SUM,
		                        .width = 1,
		                        .n_ranks = 1,
		                        .range = INDEX_RANGE_EMPTY,
		                        .src = sources };
	for (uint32_t i = 0; i < n; i++)
		add_source(call, sources, &lists[i]);
}

choir_status list_merge(struct topk_list *out, const struct topk_types *types, const struct pairs *lists, uint32_t n)
{
	struct coalesce_source *sources;
	struct coalesce_call call;
	struct pool_block block;
	struct coalesce job;
	const struct pairs none = { .form = types->form };
	choir_status st;

	if (n <= 2)
		return add_two(out, types, n > 0 ? &lists[0] : &none, n > 1 ? &lists[1] : &none);
	TRY(pool_take(&block, n * sizeof *sources, "the lists of all ranks"));
	sources = block.ptr;
	list_merge_call(&call, sources, types, lists, n);
	st = coalesce_init(&job, &call, NULL);
	if (st == CHOIR_SUCCESS)
		st = merge(out, types, &job);
	coalesce_fini(&job);
	pool_give(&block);
	return st;
}

void list_keep(struct topk_list *list, const struct topk_types *types, struct select_limit limit)
{
	struct select_output all = { .ind = list->ind.ptr, .form = types->form, .val = list->val.ptr };

	list->count = select_pairs(&all, list->count, types->elem_bytes, limit, &all, list->count);
}

choir_status list_split(struct topk_list *list, const struct topk_types *types, struct select_limit limit,
                        struct topk_list *rest)
{
	uint64_t n = list->count;
	struct select_output all = { .ind = list->ind.ptr, .form = types->form, .val = list->val.ptr, .capacity = n },
			     others = all;

	TRY(list_take(rest, types, n));
	if (n == 0)
		return CHOIR_SUCCESS;
	others.ind = rest->ind.ptr;
	others.val = rest->val.ptr;
	list->count = select_split(&all, n, types->elem_bytes, limit, &all, &others);
	rest->count = n - list->count;
	return CHOIR_SUCCESS;
}

choir_status list_top(const struct topk_list *list, const struct topk_types *types, uint64_t k,
                      struct select_limit *limit_p)
{
	struct select_input in = tensor_input(types, list->val.ptr, list->count);

	*limit_p = (struct select_limit){ .key = 0, .ties = UINT64_MAX };
	if (k >= list->count)
		return CHOIR_SUCCESS;
	if (k == 0) {
		*limit_p = (struct select_limit){ .key = UINT64_MAX, .ties = 0 };
		return CHOIR_SUCCESS;
	}
	return select_top_limit(&in, k, limit_p);
}

choir_status list_intersect(struct topk_list *out, const struct topk_types *types, const struct topk_list *mine,
                            const struct topk_list *other)
{
	bool narrow = types->elem_bytes == 4;

	TRY(list_take(out, types, mine->count));
	if (types->form.bytes == 4)
		out->count = narrow ? intersect_4_4(mine, other, out) : intersect_4_8(mine, other, out);
	else
		out->count = narrow ? intersect_8_4(mine, other, out) : intersect_8_8(mine, other, out);
	return CHOIR_SUCCESS;
}
