/* SPDX-License-Identifier: MIT */
/* The end of a call: the result in the caller's buffers, which of the rank's entries it has, the statistics. */
#include "topk/algorithm.h"
#include "topk/vector.h"

#include "base/copy.h"
#include "base/plural.h"
#include "kern/convert.h"
#include "sparse/dense.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCK_BYTES = 16 * 1024, NT_BYTES = 2 * 1024 * 1024 };

static uint64_t result_count(const struct topk_run *run)
{
	return run->algorithm->select == NULL ? run->types.n : run->kept.count;
}

/* Of all ranks, before they are added. */
static uint64_t sent_count(const struct topk_run *run)
{
	uint64_t count = 0;

	if (run->algorithm->select == NULL)
		return run->types.n;
	for (int r = 0; r < run->env.layout->n; r++)
		count += run->headers[r].selected;
	return count;
}

/* The rooms of all ranks are in the headers, and all have the same result. */
choir_status topk_result_check_room(struct topk_run *run)
{
	const uint64_t counts[] = { result_count(run), sent_count(run) };
	choir_status st = CHOIR_SUCCESS;

	if (run->request.pairs_p != NULL)
		*run->request.pairs_p = counts[run->request.rank_pairs_p != NULL];
	for (int r = 0; r < run->env.layout->n && st == CHOIR_SUCCESS; r++) {
		uint64_t count = counts[run->headers[r].unreduced != 0];

		if (count > run->headers[r].room)
			st = error_set(CHOIR_CAPACITY, "%" PRIu64 " pair%s, and rank %d has room for %" PRIu64, count,
			               plural(count), r, run->headers[r].room);
	}
	return st;
}

/* Values in the caller's dtype, averaged if that is asked for. */
static choir_status finish_values(struct topk_run *run, void *values, uint64_t n, struct pool_block *block,
                                  const void **out)
{
	const struct topk_settings *settings = &run->state->settings;

	if (settings->op == CHOIR_OP_MEAN)
		vector_divide(&run->types, values, n, run->env.layout->n);
	*out = values;
	if (settings->dtype == run->types.work)
		return CHOIR_SUCCESS;
	TRY(pool_take(block, n * choir_dtype_bytes(settings->dtype), "the values of the result"));
	convert_values(settings->dtype, block->ptr, run->types.work, values, n);
	*out = block->ptr;
	return CHOIR_SUCCESS;
}

/* The pairs from position `first` on below end_index, of a part of the tensor that begins at `from`, at the start of
 * zeros; the zeros again with `zero`.  Returns the position after them. */
static uint64_t put_pairs(const struct pairs *all, uint64_t first, uint64_t end_index, uint64_t from,
                          uint64_t elem_bytes, unsigned char *to, bool zero)
{
	uint64_t end = first;

	while (end < all->count && (uint64_t)index_at(all->ind, all->form, end) < end_index)
		end++;
	if (end > first) {
		struct pairs part = { .ind = (const unsigned char *)all->ind + first * all->form.bytes,
			              .rows = all->rows + first * elem_bytes,
			              .count = end - first,
			              .form = all->form };

		if (zero)
			dense_zero(part.ind, part.form, part.count, elem_bytes, (int64_t)from, to);
		else
			dense_scatter(&part, elem_bytes, (int64_t)from, to);
	}
	return end;
}

/* Each block of a tensor that is larger than the caches is made in the first cache and stored by nt stores. */
static void fill_blocks(const struct pairs *pairs, uint64_t elem_bytes, struct operand *to)
{
	_Alignas(64) unsigned char block[BLOCK_BYTES] = { 0 };
	uint64_t per_block = BLOCK_BYTES / elem_bytes, n = to->bytes / elem_bytes, first = 0;

	for (uint64_t from = 0; from < n; from += per_block) {
		uint64_t end = from + per_block < n ? from + per_block : n,
			 next = put_pairs(pairs, first, to->first + end, to->first + from, elem_bytes, block, false);

		copy_host_nt((unsigned char *)to->ptr + from * elem_bytes, block, (end - from) * elem_bytes);
		put_pairs(pairs, first, to->first + end, to->first + from, elem_bytes, block, true);
		first = next;
	}
	copy_host_fence();
}

/* The result's part of a tensor. */
static struct pairs pairs_of(const struct topk_run *run, const struct operand *to)
{
	uint64_t from = list_find(&run->kept, &run->types, to->first),
		 end = list_find(&run->kept, &run->types, to->first + to->bytes / to->elem_bytes);
	struct pairs pairs = { .form = run->types.form };

	if (from < end) {
		pairs = list_part(&run->kept, &run->types, from, end);
		pairs.rows = (const unsigned char *)run->values + from * to->elem_bytes;
	}
	return pairs;
}

static void fill_dense(struct topk_run *run, struct operand *to)
{
	uint64_t elem_bytes = to->elem_bytes;
	struct pairs pairs;

	to->written = to->bytes;
	if (to->bytes == 0 || to->by_kernel)
		return;
	if (run->algorithm->select == NULL) {
		if (to->ptr != run->values)
			memcpy(to->ptr, (const unsigned char *)run->values + to->first * elem_bytes, to->bytes);
		return;
	}
	pairs = pairs_of(run, to);
	if (to->bytes > NT_BYTES) {
		fill_blocks(&pairs, elem_bytes, to);
		return;
	}
	memset(to->ptr, 0, to->bytes);
	if (pairs.count > 0)
		dense_scatter(&pairs, elem_bytes, (int64_t)to->first, to->ptr);
}

static void fill_indices(const struct topk_run *run, const struct topk_list *list, struct operand *to)
{
	struct index_form form = { .bytes = to->elem_bytes };

	to->written = list->count * to->elem_bytes;
	if (list->count > 0)
		index_convert(to->ptr, form, list->ind.ptr, run->types.form, list->count);
}

static void fill_all_indices(uint64_t n, struct operand *to)
{
	to->written = n * to->elem_bytes;
	for (uint64_t i = 0; i < n; i++)
		if (to->elem_bytes == 4)
			((int32_t *)to->ptr)[i] = (int32_t)i;
		else
			((int64_t *)to->ptr)[i] = (int64_t)i;
}

/* In a dense call all elements are rank 0's. */
static void fill_rank_pairs(struct topk_run *run)
{
	for (int r = 0; r < run->env.layout->n; r++)
		run->request.rank_pairs_p[r] = run->algorithm->select != NULL ? run->headers[r].selected
		                               : r == 0                       ? run->types.n
		                                                              : 0;
}

static void fill_pairs(struct topk_run *run)
{
	struct operand *ind = &run->request.operands[TOPK_IND], *val = &run->request.operands[TOPK_VAL];
	bool as_sent = run->request.rank_pairs_p != NULL && run->algorithm->select != NULL;
	const struct topk_list *list = as_sent ? &run->as_sent : &run->kept;
	uint64_t n = as_sent ? list->count : result_count(run);

	if (run->request.pairs_p == NULL)
		return;
	if (run->algorithm->select == NULL)
		fill_all_indices(n, ind);
	else
		fill_indices(run, list, ind);
	if (run->request.rank_pairs_p != NULL)
		fill_rank_pairs(run);
	val->written = n * val->elem_bytes;
	if (n > 0)
		memcpy(val->ptr, as_sent ? run->sent_values : run->values, val->written);
}

static void fill_bits(const struct topk_run *run, struct operand *to)
{
	uint32_t *words = to->ptr;

	to->written = to->bytes;
	if (to->bytes == 0)
		return;
	memset(words, 0, to->bytes);
	for (uint64_t i = 0; i < run->types.n && run->algorithm->select == NULL; i++)
		words[i / 32] |= UINT32_C(1) << i % 32;
	for (uint64_t i = 0; i < run->involved.count; i++) {
		uint64_t x = (uint64_t)index_at(run->involved.ind.ptr, run->types.form, i);

		words[x / 32] |= UINT32_C(1) << x % 32;
	}
}

static void fill_involved(struct topk_run *run)
{
	struct operand *to = &run->request.operands[TOPK_INVOLVED];

	run->stats.involved = run->algorithm->select == NULL ? run->types.n : run->involved.count;
	if (run->request.involved_p == NULL) {
		if (!to->by_kernel)
			fill_bits(run, to);
		return;
	}
	*run->request.involved_p = run->stats.involved;
	if (run->algorithm->select == NULL)
		fill_all_indices(run->types.n, to);
	else
		fill_indices(run, &run->involved, to);
}

static void note_stats(struct topk_run *run)
{
	run->stats.call = run->tracking.calls;
	run->stats.k = run->k;
	run->stats.selected = run->header.selected;
	run->stats.pairs = result_count(run);
	run->stats.local_threshold = run->algorithm->select == NULL || run->request.at ? 0 : run->tracking.local;
	run->stats.global_threshold = run->tracking.global > 0 ? run->tracking.global : 0;
}

choir_status topk_result_write(struct topk_run *run)
{
	void *values = run->algorithm->select == NULL ? run->sum : run->kept.val.ptr;

	if (run->far.sum_val.mem == NULL)
		TRY(finish_values(run, values, result_count(run), &run->mean, &run->values));
	TRY(finish_values(run, run->as_sent.val.ptr, run->as_sent.count, &run->sent_mean, &run->sent_values));
	for (size_t i = 0; i < run->request.n_tensors; i++)
		fill_dense(run, topk_dense(&run->request, i));
	fill_pairs(run);
	fill_involved(run);
	note_stats(run);
	return CHOIR_SUCCESS;
}
