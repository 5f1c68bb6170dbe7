/* SPDX-License-Identifier: MIT */
/* The bitmap way of the host for many raw scalars: grouped by the upper bits of their index first, so that cells
 * and bits of a bucket stay in the second cache.  One pass groups the pairs (chain.h), one folds each bucket, keeping a
 * bit an index and the values that came out, packed; the result is those values, and the bits as indices.  Temporaries:
 * an entry a pair while they are folded, then a value an index that came. */
#include "base/copy.h"
#include "base/dtype.h"
#include "sparse/bits.h"
#include "sparse/chain.h"
#include "sparse/coalesce.h"
#include "sparse/identity.h"
#include "sparse/rows.h"
#include "sparse/scratch.h"

#include "kern/reduce.h"

#define LOOPS "sparse/cells_op.inc"
#include "kern/each_dtype.inc"

struct cells_loops {
	void (*fold)(void *cells, uint64_t *touched, const unsigned char *entries, size_t n, bool raw);
	void (*take)(void *cells, const uint16_t *at, size_t n, const void *nothing, void *to);
};

#define CELL(dtype, op) [CHOIR_OP_##op] = { op_##dtype##_##op##_cells_fold, op_##dtype##_##op##_cells_take }

static const struct cells_loops loops[N_DTYPES][N_OPS] = {
#include "kern/each_cell.inc"
};

#define LEAST_PAIRS  16384               /* fewer are folded in the first caches as they come */
#define LARGE_RESULT (UINT64_C(8) << 20) /* bytes: copied by nt stores, since the caches would lose the first lines */
#define MOST_CELLS   (1u << BUCKET_MOST_SHIFT)

static bool fits(const struct coalesce_call *call, uint64_t pairs)
{
	return !user_op_is(call->op) && call->width == 1 && call->n_src == 1 &&
	       !(call->final && reduce_has_final(call->op)) && pairs >= LEAST_PAIRS &&
	       coalesce_bitmap_pays(call, pairs) && bucket_fits(call->range, pairs);
}

static size_t words_of(const struct bucket_shape *shape)
{
	return ((size_t)1 << shape->shift) / 64;
}

/* Takes cells filled with the value that changes no bit; *nothing is that value. */
static choir_status take_cells(struct coalesce *job, size_t cells, uint64_t *nothing)
{
	choir_dtype dtype =
	    dtype_acc_bytes(job->call.dtype) == choir_dtype_bytes(job->call.dtype) ? job->call.dtype : CHOIR_F32;

	TRY(pool_take(&job->acc, cells * choir_dtype_bytes(dtype), "the cells of a bucket"));
	identity_fill(dtype, job->call.op, job->acc.ptr, cells);
	identity_fill(dtype, job->call.op, nothing, 1);
	return CHOIR_SUCCESS;
}

/* Folds bucket b into the cells and tells which were touched. */
static void fold_bucket(const struct coalesce *job, const struct chains *chains, uint32_t b, uint64_t *touched)
{
	const struct cells_loops *loop = &loops[job->call.dtype][job->call.op];
	struct chain_at at = chain_begin(chains, b);
	const unsigned char *entries;
	size_t n;

	while ((n = chain_part(chains, &at, &entries)) > 0)
		loop->fold(job->acc.ptr, touched, entries, n, job->call.raw);
}

/* The cells that were touched to the values, room of which are left; they are as at the start then, and nothing is
 * touched.  Returns how many there were. */
static uint64_t take_bucket(const struct coalesce *job, uint64_t *touched, size_t words, uint64_t nothing, void *values,
                            uint64_t room)
{
	const struct coalesce_call *call = &job->call;
	uint16_t at[MOST_CELLS + BITS_SLACK];
	size_t n;

	if (choir_dtype_bytes(call->dtype) == 4 && dtype_acc_bytes(call->dtype) == 4 &&
	    bits_pack(touched, words, job->acc.ptr, (uint32_t)nothing, values, room)) {
		n = bits_count(touched, words);
		memset(touched, 0, words * sizeof *touched);
		return n;
	}
	n = bits_take(touched, words, at);
	loops[call->dtype][call->op].take(job->acc.ptr, at, n, &nothing, values);
	return n;
}

static void fold_all(struct coalesce *job, const struct chains *chains, uint64_t nothing, uint64_t most)
{
	uint64_t touched[MOST_CELLS / 64] = { 0 }, *bitmap = job->bitmap.ptr;
	size_t words = words_of(&chains->shape), elem_bytes = choir_dtype_bytes(job->call.dtype);

	for (uint32_t b = 0; b < chains->shape.n; b++) {
		fold_bucket(job, chains, b, touched);
		memcpy(bitmap + b * words, touched, words * sizeof *touched);
		job->count +=
		    take_bucket(job, touched, words, nothing,
		                (unsigned char *)job->values.ptr + job->count * elem_bytes, most - job->count);
	}
}

static choir_status count(struct coalesce *job)
{
	struct bucket_shape shape = bucket_shape_of(job->call.range, 1);
	uint64_t elem_bytes = choir_dtype_bytes(job->call.dtype), span = index_range_span(job->call.range), nothing = 0;
	uint64_t most = job->pairs < span ? job->pairs : span;
	struct chains chains;

	TRY(pool_take(&job->bitmap, shape.n * words_of(&shape) * sizeof(uint64_t), "the presence bitmap"));
	TRY(pool_take(&job->values, most * elem_bytes, "the values of a coalescing"));
	scratch_large_pages(&job->values);
	TRY(take_cells(job, words_of(&shape) * 64, &nothing));
	TRY(chain_group(&shape, &job->call.src[0].pairs, elem_bytes, &chains));
	fold_all(job, &chains, nothing, most);
	chain_free(&chains);
	return CHOIR_SUCCESS;
}

static uint64_t write_long_indices(uint64_t *bitmap, size_t words, int64_t first, int64_t *to)
{
	uint16_t at[MOST_CELLS + BITS_SLACK];
	size_t n = bits_take(bitmap, words, at);

	for (size_t i = 0; i < n; i++)
		to[i] = first + at[i];
	return n;
}

static choir_status fill(struct coalesce *job, void *ind, struct index_form form, void *rows)
{
	struct bucket_shape shape = bucket_shape_of(job->call.range, 1);
	uint64_t bytes = job->count * choir_dtype_bytes(job->call.dtype), *bitmap = job->bitmap.ptr, written = 0;
	size_t words = words_of(&shape);

	copy_host(rows, job->values.ptr, bytes, bytes >= LARGE_RESULT);
	for (uint32_t b = 0; b < shape.n; b++) {
		int64_t first = shape.lo + ((int64_t)b << shape.shift) - form.base;

		if (form.bytes == 4)
			written += bits_indices(bitmap + b * words, words, (int32_t)first, (int32_t *)ind + written,
			                        job->count - written);
		else
			written += write_long_indices(bitmap + b * words, words, first, (int64_t *)ind + written);
	}
	return CHOIR_SUCCESS;
}

const struct coalesce_way coalesce_way_buckets = { .name = "buckets", .fits = fits, .count = count, .fill = fill };
