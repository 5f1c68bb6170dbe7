/* SPDX-License-Identifier: MIT */
/* choir_intersect: a bitmap of `among` where its range is little memory beside the lists, else a sorted copy and a
 * binary search.  Operands: ind, among, found. */
#include "topk/device_call.h"

#include "base/arithmetic.h"

#include "sparse/dense.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { IND, AMONG, FOUND };

/* Bits of a bitmap that are always worth while, and for each pair beyond them. */
#define BITS_LEAST (UINT64_C(1) << 23)
#define BITS_EACH  64

static bool bitmap_pays(const struct device_call *call, struct index_range range)
{
	uint64_t most = BITS_LEAST + BITS_EACH * (call->args.count + call->args.among);

	return index_range_span(range) <= most;
}

static choir_status negative(const struct device_call *call, uint64_t at, int64_t index)
{
	return error_set(CHOIR_ARGUMENT, "%s: index %" PRId64 " at position %" PRIu64 " of among is negative",
	                 call->form->name, index, at);
}

static choir_status by_bitmap(struct device_call *call, struct index_range range)
{
	struct index_form form = device_call_index_form(call);
	const void *among = call->operands[AMONG].ptr;
	uint64_t words = (index_range_span(range) + 63) / 64, *bitmap;
	struct pool_block block;

	TRY(pool_take(&block, words * 8, "a bitmap of indices"));
	bitmap = block.ptr;
	memset(bitmap, 0, words * 8);
	for (uint64_t i = 0; i < call->args.among; i++) {
		uint64_t x = (uint64_t)(index_at(among, form, i) - range.lo);

		bitmap[x / 64] |= UINT64_C(1) << x % 64;
	}
	dense_contains(call->operands[IND].ptr, form, call->args.count, range.lo, bitmap, words,
	               call->operands[FOUND].ptr);
	pool_give(&block);
	return CHOIR_SUCCESS;
}

static choir_status by_search(struct device_call *call)
{
	struct index_form form = device_call_index_form(call);
	uint64_t n = call->args.among;
	uint8_t *found = call->operands[FOUND].ptr;
	struct pool_block block;

	TRY(pool_take(&block, n * 8, "a sorted copy of the indices"));
	index_convert(block.ptr, (struct index_form){ .bytes = 8 }, call->operands[AMONG].ptr, form, n);
	qsort(block.ptr, n, 8, compare_i64);
	for (uint64_t i = 0; i < call->args.count; i++) {
		int64_t x = index_at(call->operands[IND].ptr, form, i);

		found[i] = bsearch(&x, block.ptr, n, 8, compare_i64) != NULL;
	}
	pool_give(&block);
	return CHOIR_SUCCESS;
}

static choir_status host(struct device_call *call)
{
	const void *among = call->operands[AMONG].ptr;
	uint64_t bad;
	struct index_range range = coalesce_range_host(among, call->operands[AMONG].elem_bytes, call->args.among, &bad);

	if (bad < call->args.among)
		return negative(call, bad, index_at(among, device_call_index_form(call), bad));
	call->operands[FOUND].written = call->operands[FOUND].bytes;
	if (call->args.among == 0) {
		if (call->args.count > 0)
			memset(call->operands[FOUND].ptr, 0, call->args.count);
		return CHOIR_SUCCESS;
	}
	return bitmap_pays(call, range) ? by_bitmap(call, range) : by_search(call);
}

static bool fits_kernels(const struct device_call *call)
{
	return call->args.count < UINT32_MAX && call->args.among < UINT32_MAX;
}

static struct dense_list list_of(const struct device_call *call, int which, uint64_t n)
{
	const struct operand *operand = &call->operands[which];

	return (struct dense_list){ .ind = operand->buffer.base,
		                    .off = operand->buffer.offset_bytes,
		                    .form = device_call_index_form(call),
		                    .n = n };
}

static uint64_t bitmap_words(struct index_range range)
{
	return (index_range_span(range) + 31) / 32;
}

static choir_status mark_and_look(struct device_call *call, struct index_range range)
{
	const struct operand *found = &call->operands[FOUND];
	struct dense_list ind = list_of(call, IND, call->args.count), among = list_of(call, AMONG, call->args.among);
	struct dense_bitmap bitmap = { .words = bitmap_words(range), .lo = range.lo };
	cl_int rc;

	TRY(dev_buffer_create(call->device, bitmap.words * 4, &call->made[0]));
	TRY(dev_buffer_create(call->device, call->args.count, &call->made[1]));
	bitmap.mem = call->made[0];
	TRY(dense_kernel_clear(call->device, &bitmap, NULL));
	TRY(dense_kernel_mark(call->device, &among, &bitmap, NULL));
	TRY(dense_kernel_contains(call->device, &ind, &bitmap, call->made[1], NULL));
	rc = clEnqueueCopyBuffer(dev_queue(call->device), call->made[1], found->buffer.base, 0,
	                         found->buffer.offset_bytes, call->args.count, 0, NULL, &call->event);
	if (rc == CL_SUCCESS)
		rc = clFlush(dev_queue(call->device));
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clEnqueueCopyBuffer", rc);
}

static choir_status kernels(struct device_call *call, bool *done_p)
{
	const struct operand *among = &call->operands[AMONG];
	struct index_range range;
	uint64_t bad;
	int64_t bad_index = 0;

	*done_p = call->phase == 1;
	if (call->phase == 1)
		return CHOIR_SUCCESS;
	if (call->range == NULL)
		TRY(range_job_create(call->device, among->buffer.base, among->buffer.offset_bytes, among->elem_bytes,
		                     call->args.among, &call->range));
	TRY(range_job_poll(call->range, &range, &bad, &bad_index, done_p));
	if (!*done_p)
		return range_job_watch(call->range, call->wake, NULL);
	if (bad < call->args.among)
		return negative(call, bad, bad_index);
	*done_p = false;
	if (!bitmap_pays(call, range) || bitmap_words(range) > dev_most_buffer_bytes(call->device) / 4) {
		call->host_only = true;
		return CHOIR_SUCCESS;
	}
	call->phase = 1;
	return mark_and_look(call, range);
}

const struct device_form device_form_intersect = {
	.name = "choir_intersect", .host = host, .fits_kernels = fits_kernels, .kernels = kernels
};
