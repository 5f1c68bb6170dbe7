/* SPDX-License-Identifier: MIT */
/* The bitmap way of the host.  A bit for each index of the range; the number of bits below an index is its place
 * in the result, so nothing is sorted.  Passes: range/64 words zeroed and counted, each index read twice, each row
 * once.  Right where the range is not much larger than the number of pairs; coalesce.c chooses. */
#include "base/dtype.h"
#include "sparse/bits.h"
#include "sparse/coalesce.h"
#include "sparse/rows.h"

#include <string.h>

/* To clear, count and look through a word of bitmap costs about a tenth of sorting a pair; pairs that come in no order
 * miss the cache twice each once the bitmap does not fit. */
#define WORDS_A_PAIR     8
#define WORDS_A_RAW_PAIR 1
#define CACHED_WORDS     65536

bool coalesce_bitmap_pays(const struct coalesce_call *call, uint64_t pairs)
{
	uint64_t words = (uint64_t)(call->range.hi - call->range.lo) / 64;

	if (pairs > UINT32_MAX || words / WORDS_A_PAIR > pairs)
		return false;
	return !call->raw || words <= CACHED_WORDS || words / WORDS_A_RAW_PAIR <= pairs;
}

#define BATCH 512

static uint64_t bitmap_words(const struct coalesce *job)
{
	return (uint64_t)(job->call.range.hi - job->call.range.lo) / 64 + 1;
}

static void mark(uint64_t *bitmap, const struct pairs *pairs, int64_t lo)
{
	int64_t shift = pairs->form.base - lo;

	if (pairs->form.bytes == 4) {
		const int32_t *ind = pairs->ind;

		for (uint64_t i = 0; i < pairs->count; i++) {
			uint64_t x = (uint64_t)(ind[i] + shift);

			bitmap[x / 64] |= UINT64_C(1) << (x % 64);
		}
	} else {
		const int64_t *ind = pairs->ind;

		for (uint64_t i = 0; i < pairs->count; i++) {
			uint64_t x = (uint64_t)(ind[i] + shift);

			bitmap[x / 64] |= UINT64_C(1) << (x % 64);
		}
	}
}

static choir_status count(struct coalesce *job)
{
	uint64_t words = bitmap_words(job);

	TRY(pool_take(&job->bitmap, words * 8, "the presence bitmap"));
	TRY(pool_take(&job->before, words * 4, "the places of the bitmap"));
	memset(job->bitmap.ptr, 0, words * 8);
	for (uint32_t s = 0; s < job->call.n_src; s++)
		mark(job->bitmap.ptr, &job->call.src[s].pairs, job->call.range.lo);
	job->count = bits_before(job->bitmap.ptr, words, job->before.ptr);
	return CHOIR_SUCCESS;
}

/* The set bits, ascending, as indices. */
static void write_indices(const struct coalesce *job, void *ind, struct index_form form)
{
	const uint64_t *bitmap = job->bitmap.ptr;
	uint64_t words = bitmap_words(job), n = 0;
	int64_t shift = job->call.range.lo - form.base;

	if (form.bytes == 4) {
		int32_t *out = ind;

		for (uint64_t w = 0; w < words; w++)
			for (uint64_t m = bitmap[w]; m != 0; m &= m - 1)
				out[n++] = (int32_t)((int64_t)(w * 64) + __builtin_ctzll(m) + shift);
	} else {
		int64_t *out = ind;

		for (uint64_t w = 0; w < words; w++)
			for (uint64_t m = bitmap[w]; m != 0; m &= m - 1)
				out[n++] = (int64_t)(w * 64) + __builtin_ctzll(m) + shift;
	}
}

/* Places and first-flags of n <= BATCH pairs from the i-th on. */
static void place_batch(const struct coalesce *job, const struct pairs *pairs, uint64_t i, size_t n, uint64_t *place,
                        uint8_t *first)
{
	uint8_t *filled = job->filled.ptr;
	int64_t shift = pairs->form.base - job->call.range.lo;
	uint64_t at[BATCH];

	if (pairs->form.bytes == 4)
		for (size_t k = 0; k < n; k++)
			at[k] = (uint64_t)(((const int32_t *)pairs->ind)[i + k] + shift);
	else
		for (size_t k = 0; k < n; k++)
			at[k] = (uint64_t)(((const int64_t *)pairs->ind)[i + k] + shift);
	bits_places(job->bitmap.ptr, job->before.ptr, at, n, place);
	for (size_t k = 0; k < n; k++) {
		first[k] = !filled[place[k]];
		filled[place[k]] = 1;
	}
}

static void fold_source(const struct coalesce *job, const struct rows *rows, const struct pairs *pairs,
                        uint64_t row_bytes)
{
	uint64_t place[BATCH];
	uint8_t first[BATCH];

	for (uint64_t i = 0; i < pairs->count; i += BATCH) {
		size_t n = pairs->count - i < BATCH ? (size_t)(pairs->count - i) : BATCH;

		place_batch(job, pairs, i, n, place, first);
		rows_fold(rows, &(struct rows_batch){
				    .place = place, .first = first, .from = pairs->rows + i * row_bytes, .n = n });
	}
}

static choir_status fill(struct coalesce *job, void *ind, struct index_form form, void *out)
{
	const struct coalesce_call *call = &job->call;
	struct rows rows = { .dtype = call->dtype,
		             .op = call->op,
		             .raw = call->raw,
		             .final = call->final,
		             .n_ranks = call->n_ranks,
		             .width = call->width,
		             .acc = out };

	TRY(pool_take(&job->filled, job->count, "the filled flags"));
	if (dtype_acc_bytes(call->dtype) != choir_dtype_bytes(call->dtype)) {
		TRY(pool_take(&job->acc, job->count * call->width * dtype_acc_bytes(call->dtype), "the accumulators"));
		rows.acc = job->acc.ptr;
	}
	memset(job->filled.ptr, 0, job->count);
	write_indices(job, ind, form);
	for (uint32_t s = 0; s < call->n_src; s++)
		fold_source(job, &rows, &call->src[s].pairs, call->width * choir_dtype_bytes(call->dtype));
	rows_finish(&rows, out, job->count);
	return CHOIR_SUCCESS;
}

const struct coalesce_way coalesce_way_bitmap = {
	.name = "bitmap", .fits = coalesce_bitmap_pays, .count = count, .fill = fill
};
