/* SPDX-License-Identifier: MIT */
/* Chooses how a job is done: by kernels where a device was given, else by the first way of the host that fits. */
#include "sparse/coalesce.h"

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/simd.h"
#include "base/user_op.h"

#include <string.h>

enum { ENTRY_BYTES = 16 }; /* of the kernels: a key and a value, or a position */

bool coalesce_kernels_have_room(uint64_t pairs, uint64_t row_bytes, uint64_t acc_bytes, uint64_t buffer_bytes,
                                uint64_t memory_bytes)
{
	uint64_t most_a_pair = max_u64(max_u64(row_bytes, acc_bytes), ENTRY_BYTES),
		 all_a_pair =
		     2 * ENTRY_BYTES + sizeof(int64_t) + 2 * row_bytes + (acc_bytes > row_bytes ? acc_bytes : 0);

	return pairs <= COALESCE_KERNEL_MOST && pairs <= buffer_bytes / most_a_pair &&
	       pairs <= memory_bytes / all_a_pair;
}

bool coalesce_device_has_room(const choir_device *device, uint64_t pairs, uint64_t width, choir_dtype dtype)
{
	return coalesce_kernels_have_room(pairs, width * choir_dtype_bytes(dtype), width * dtype_acc_bytes(dtype),
	                                  dev_most_buffer_bytes(device), dev_memory_bytes(device));
}

static const struct coalesce_way *const ways[] = { &coalesce_way_buckets, &coalesce_way_bitmap, &coalesce_way_sort };

static const struct coalesce_way *way_of(const struct coalesce_call *call, uint64_t pairs)
{
	size_t i = 0;

	while (!ways[i]->fits(call, pairs))
		i++;
	return ways[i];
}

choir_status coalesce_init(struct coalesce *job, const struct coalesce_call *call, choir_device *device)
{
	const struct user_op *user = user_op_held(call->op);

	memset(job, 0, sizeof *job);
	job->call = *call;
	for (uint32_t s = 0; s < call->n_src; s++)
		job->pairs += call->src[s].pairs.count;
	if (job->pairs == 0)
		return CHOIR_SUCCESS;
	if (device != NULL)
		return coalesce_kernel_create(device, call, job->pairs, &job->on_device);
	if (user_op_has_texts_alone(user))
		return error_set(CHOIR_UNSUPPORTED, "operator '%s' has no fold function, and the host coalesces",
		                 user->name);
	job->way = way_of(call, job->pairs);
	return CHOIR_SUCCESS;
}

choir_status coalesce_count(struct coalesce *job, bool *done_p)
{
	if (job->on_device != NULL)
		return coalesce_kernel_count(job->on_device, &job->count, done_p);
	if (job->pairs > 0)
		TRY(job->way->count(job));
	*done_p = true;
	return CHOIR_SUCCESS;
}

choir_status coalesce_fill(struct coalesce *job, void *ind, struct index_form form, void *rows, bool *done_p)
{
	if (job->on_device != NULL)
		return coalesce_kernel_fill(job->on_device, ind, form, rows, done_p);
	if (job->pairs > 0)
		TRY(job->way->fill(job, ind, form, rows));
	*done_p = true;
	return CHOIR_SUCCESS;
}

choir_status coalesce_fill_mems(struct coalesce *job, struct dev_bytes ind, struct index_form form,
                                struct dev_bytes rows, bool *done_p)
{
	return coalesce_kernel_fill_mems(job->on_device, ind, form, rows, done_p);
}

choir_status coalesce_fill_kept(struct coalesce *job, struct index_form form, bool *done_p)
{
	return coalesce_kernel_fill_kept(job->on_device, form, done_p);
}

void coalesce_keep(struct coalesce *job, struct scratch *ind, struct scratch *rows)
{
	if (job->on_device != NULL)
		coalesce_kernel_keep(job->on_device, ind, rows);
}

choir_status coalesce_watch(struct coalesce *job, void (*fn)(void *), void *ctx)
{
	return job->on_device == NULL ? CHOIR_SUCCESS : coalesce_kernel_watch(job->on_device, fn, ctx);
}

void coalesce_fini(struct coalesce *job)
{
	coalesce_kernel_destroy(job->on_device);
	pool_give(&job->bitmap);
	pool_give(&job->before);
	pool_give(&job->filled);
	pool_give(&job->values);
	pool_give(&job->acc);
	pool_give(&job->keys);
	memset(job, 0, sizeof *job);
}

/* Baseline x86-64 has no least and greatest of 32-bit integers; AVX2 has, and is faster. */
EITHER_WAY struct index_range ends_body(const int32_t *ind, uint64_t n)
{
	int32_t lo = INT32_MAX, hi = INT32_MIN;

	for (uint64_t i = 0; i < n; i++) {
		lo = ind[i] < lo ? ind[i] : lo;
		hi = ind[i] > hi ? ind[i] : hi;
	}
	return (struct index_range){ .lo = lo, .hi = hi };
}

WITH_AVX2 static struct index_range ends_fast(const int32_t *ind, uint64_t n)
{
	return ends_body(ind, n);
}

struct index_range coalesce_range_host(const void *ind, uint32_t ind_bytes, uint64_t n, uint64_t *bad_p)
{
	struct index_range range = { .lo = INT64_MAX, .hi = -1 };
	struct index_form form = { .bytes = ind_bytes };

	*bad_p = n;
	if (n == 0)
		return INDEX_RANGE_EMPTY;
	if (ind_bytes == 4) {
		range = HAS_AVX2 ? ends_fast(ind, n) : ends_body(ind, n);
	} else {
		for (uint64_t i = 0; i < n; i++) {
			int64_t x = ((const int64_t *)ind)[i];

			range.lo = x < range.lo ? x : range.lo;
			range.hi = x > range.hi ? x : range.hi;
		}
	}
	for (uint64_t i = 0; i < n && range.lo < 0; i++)
		if (index_at(ind, form, i) < 0) {
			*bad_p = i;
			break;
		}
	return range;
}
