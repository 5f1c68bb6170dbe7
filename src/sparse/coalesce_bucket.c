/* SPDX-License-Identifier: MIT */
/* The bitmap route of the host twin for many raw scalars: grouped by the upper bits of their index first, so that cells and bits of a group stay in
 * the cache (bucket.h).  One pass to count the groups, one to fill them, one over the keys for the number of distinct ones, one that folds and writes. */
#include "sparse/bits.h"
#include "sparse/bucket.h"
#include "sparse/coalesce.h"
#include "sparse/each_cell.h"
#include "sparse/identity.h"
#include "sparse/rows.h"
#include "sparse/scratch.h"

#include "kern/reduce.h"

#define LOOPS "sparse/cells_op.inc"
#include "sparse/each_dtype.inc"

struct cells_loops {
	void (*fold)(void *cells, const uint16_t *key, const void *val, size_t n, bool raw);
	void (*take)(void *cells, const uint16_t *at, size_t n, const void *nothing, void *to);
};

#define CELL(dtype, op) [CHOIR_OP_##op] = { op_##dtype##_##op##_cells_fold, op_##dtype##_##op##_cells_take }

static const struct cells_loops loops[EACH_DTYPES][EACH_OPS] = EACH_CELL;

#define LEAST_PAIRS 16384 /* fewer are folded in the first caches as they come */

static bool fits(const struct coalesce_call *call, uint64_t pairs)
{
	return call->width == 1 && call->n_src == 1 && !(call->final && reduce_has_final(call->op)) && pairs >= LEAST_PAIRS
	       && coalesce_bitmap_pays(call, pairs) && bucket_fits(call->range, pairs);
}

static struct bucket_list list_of(const struct coalesce *job, const struct bucket_shape *shape)
{
	return bucket_list_at(shape, job->keys.ptr, job->pairs, choir_dtype_bytes(job->call.dtype), job->call.raw);
}

/* Bits of the keys; returns how many are set.  Flags first, since a byte is only written: a word of bits would be read, changed and written for each key. */
static uint64_t mark(uint64_t *bitmap, size_t words, const uint16_t *key, size_t n, uint8_t *flag)
{
	for (size_t i = 0; i < n; i++)
		flag[key[i]] = 1;
	return bits_flags(flag, words, bitmap);
}

static size_t words_of(const struct bucket_shape *shape)
{
	return ((size_t)1 << shape->shift) / 64;
}

static choir_status count(struct coalesce *job)
{
	struct bucket_shape shape = bucket_shape_of(job->call.range, 1);
	uint64_t elem_bytes = choir_dtype_bytes(job->call.dtype), *bitmap;
	size_t words = words_of(&shape);
	uint8_t flag[1 << BUCKET_MOST_SHIFT];
	struct bucket_list list;

	TRY(pool_take(&job->keys, bucket_list_bytes(&shape, job->pairs, elem_bytes), "the pairs, grouped"));
	TRY(pool_take(&job->bitmap, shape.n * words * sizeof *bitmap, "the presence bitmap"));
	scratch_large_pages(&job->keys);
	TRY(bucket_split(&shape, &job->call.src[0].pairs, elem_bytes, job->keys.ptr));
	list = list_of(job, &shape);
	bitmap = job->bitmap.ptr;
	memset(flag, 0, words * 64);
	for (uint32_t b = 0; b < shape.n; b++)
		job->count += mark(bitmap + b * words, words, list.key + list.start[b], list.start[b + 1] - list.start[b], flag);
	return CHOIR_SUCCESS;
}

static void write_indices(const uint16_t *at, size_t n, int64_t shift, void *ind, uint32_t ind_bytes)
{
	if (ind_bytes == 4)
		for (size_t i = 0; i < n; i++)
			((int32_t *)ind)[i] = (int32_t)(at[i] + shift);
	else
		for (size_t i = 0; i < n; i++)
			((int64_t *)ind)[i] = at[i] + shift;
}

/* Cells full of what changes no bit, and that. */
static choir_status take_cells(struct coalesce *job, size_t cells, uint64_t *nothing)
{
	choir_dtype dtype = rows_acc_bytes(job->call.dtype) == choir_dtype_bytes(job->call.dtype) ? job->call.dtype : CHOIR_F32;

	TRY(pool_take(&job->acc, cells * choir_dtype_bytes(dtype), "the cells of a bucket"));
	identity_fill(dtype, job->call.op, job->acc.ptr, cells);
	identity_fill(dtype, job->call.op, nothing, 1);
	return CHOIR_SUCCESS;
}

static choir_status fill(struct coalesce *job, void *ind, struct index_form form, void *rows)
{
	const struct coalesce_call *call = &job->call;
	const struct cells_loops *loop = &loops[call->dtype][call->op];
	struct bucket_shape shape = bucket_shape_of(call->range, 1);
	struct bucket_list list = list_of(job, &shape);
	uint64_t elem_bytes = choir_dtype_bytes(call->dtype), cell_bytes = rows_acc_bytes(call->dtype), written = 0, nothing = 0;
	uint64_t *bitmap = job->bitmap.ptr;
	uint16_t at[(1 << BUCKET_MOST_SHIFT) + BITS_SLACK];
	size_t words = words_of(&shape);

	TRY(take_cells(job, words * 64, &nothing));
	for (uint32_t b = 0; b < shape.n; b++) {
		uint64_t from = list.start[b];
		bool packed;
		size_t n;

		loop->fold(job->acc.ptr, list.key + from, list.val + from * elem_bytes, list.start[b + 1] - from, call->raw);
		packed = cell_bytes == 4 && elem_bytes == 4 &&
			 bits_pack(bitmap + b * words, words, job->acc.ptr, (uint32_t)nothing, (uint32_t *)rows + written, job->count - written);
		n = bits_take(bitmap + b * words, words, at);
		write_indices(at, n, shape.lo + ((int64_t)b << shape.shift) - form.base, (unsigned char *)ind + written * form.bytes, form.bytes);
		if (!packed)
			loop->take(job->acc.ptr, at, n, &nothing, (unsigned char *)rows + written * elem_bytes);
		written += n;
	}
	return CHOIR_SUCCESS;
}

const struct coalesce_way coalesce_way_buckets = { .name = "buckets", .fits = fits, .count = count, .fill = fill };
