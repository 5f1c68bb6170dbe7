/* SPDX-License-Identifier: MIT */
/* The bitmap route of the host twin for many raw scalars: grouped by the upper bits of their index first, so that cells and bits of a group stay in
 * the cache (bucket.h).  One pass to count the groups, one to fill them, one over the keys for the number of distinct ones, one that folds and writes. */
#include "sparse/bits.h"
#include "sparse/bucket.h"
#include "sparse/coalesce.h"
#include "sparse/scratch.h"

#include "kern/reduce.h"

#define LEAST_PAIRS 16384 /* fewer are folded in the first caches as they come */

/* One list only: several would be rounded one by one. */
static bool fits(const struct coalesce_call *call, uint64_t pairs)
{
	return call->width == 1 && call->n_src == 1 && !(call->final && reduce_has_final(call->op)) && pairs >= LEAST_PAIRS
	       && coalesce_bitmap_pays(call, pairs) && bucket_fits(call->range, pairs);
}

static struct bucket_list list_of(const struct coalesce *job, const struct bucket_shape *shape)
{
	return bucket_list_at(shape, job->keys.ptr, job->pairs, choir_dtype_bytes(job->call.dtype), job->call.raw);
}

static uint64_t distinct(uint64_t *bitmap, size_t words, const uint16_t *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bitmap[key[i] / 64] |= UINT64_C(1) << (key[i] % 64);
	return bits_count(bitmap, words);
}

static choir_status count(struct coalesce *job)
{
	const struct pairs *pairs = &job->call.src[0].pairs;
	struct bucket_shape shape = bucket_shape_of(job->call.range, 1);
	uint64_t elem_bytes = choir_dtype_bytes(job->call.dtype), bitmap[(1 << BUCKET_MOST_SHIFT) / 64];
	size_t words = ((size_t)1 << shape.shift) / 64;
	struct bucket_list list;

	TRY(pool_take(&job->keys, bucket_list_bytes(&shape, job->pairs, elem_bytes), "the pairs, grouped"));
	scratch_large_pages(&job->keys);
	TRY(bucket_split(&shape, pairs, elem_bytes, job->keys.ptr));
	list = list_of(job, &shape);
	for (uint32_t b = 0; b < shape.n; b++) {
		memset(bitmap, 0, words * sizeof *bitmap);
		job->count += distinct(bitmap, words, list.key + list.start[b], list.start[b + 1] - list.start[b]);
	}
	return CHOIR_SUCCESS;
}

static choir_status fill(struct coalesce *job, void *ind, struct index_form form, void *rows)
{
	struct bucket_shape shape = bucket_shape_of(job->call.range, 1);
	struct bucket_list list = list_of(job, &shape);
	struct bucket_reduction todo = { .shape = shape, .dtype = job->call.dtype, .op = job->call.op, .n_ranks = 1, .lists = &list, .n_lists = 1 };
	uint64_t written;

	return bucket_reduce(&todo, 0, shape.n, ind, form, rows, &written);
}

const struct coalesce_way coalesce_way_buckets = { .name = "buckets", .fits = fits, .count = count, .fill = fill };
