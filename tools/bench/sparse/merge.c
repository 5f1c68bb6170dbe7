/* SPDX-License-Identifier: MIT */
/* Two ways.  Where a bitmap over the range is not much longer than the rows: mark the indices present, count the marks
 * before each word, and add every row straight to its place.  Else: radix sort (index, row) by index, 11 bits a pass,
 * and add up the runs. */
#include "merge.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

bool merge_init(struct merge *merge, size_t rows, size_t range)
{
	merge->room = rows;
	merge->words = range / 64 + 1;
	if (merge->words > 16 * rows)
		merge->words = 0;
	if (merge->words > 0) {
		merge->bitmap = malloc(merge->words * sizeof *merge->bitmap);
		merge->before = malloc(merge->words * sizeof *merge->before);
		return merge->bitmap != NULL && merge->before != NULL;
	}
	for (int side = 0; side < 2; side++) {
		merge->keys[side] = malloc((rows + 1) * sizeof *merge->keys[side]);
		merge->rows[side] = malloc((rows + 1) * sizeof *merge->rows[side]);
	}
	return merge->keys[0] != NULL && merge->keys[1] != NULL && merge->rows[0] != NULL && merge->rows[1] != NULL;
}

void merge_fini(struct merge *merge)
{
	free(merge->bitmap);
	free(merge->before);
	for (int side = 0; side < 2; side++) {
		free(merge->keys[side]);
		free(merge->rows[side]);
	}
}

static inline uint64_t index_at(const struct merge *merge, const void *ind, size_t i)
{
	return merge->index_dtype == CHOIR_I64 ? (uint64_t)((const int64_t *)ind)[i]
	                                       : (uint64_t)((const int32_t *)ind)[i];
}

static inline void set_index(const struct merge *merge, void *ind, size_t i, uint64_t index)
{
	if (merge->index_dtype == CHOIR_I64)
		((int64_t *)ind)[i] = (int64_t)index;
	else
		((int32_t *)ind)[i] = (int32_t)index;
}

static inline void add_row(const struct merge *merge, void *restrict out_val, size_t to, const void *restrict val,
                           size_t from)
{
	size_t width = merge->width;

	if (merge->dtype == CHOIR_F64) {
		double *x = (double *)out_val + to * width;
		const double *y = (const double *)val + from * width;

		for (size_t c = 0; c < width; c++)
			x[c] += y[c];
	} else {
		float *x = (float *)out_val + to * width;
		const float *y = (const float *)val + from * width;

		for (size_t c = 0; c < width; c++)
			x[c] += y[c];
	}
}

static size_t list_marks(struct merge *merge, void *out_ind)
{
	size_t n = 0;

	for (size_t w = 0; w < merge->words; w++) {
		merge->before[w] = (uint32_t)n;
		for (uint64_t marks = merge->bitmap[w]; marks != 0; marks &= marks - 1)
			set_index(merge, out_ind, n++, w * 64 + (uint64_t)__builtin_ctzll(marks));
	}
	return n;
}

static size_t sum_by_bitmap(struct merge *merge, const void *ind, const void *val, size_t rows, void *out_ind,
                            void *out_val)
{
	size_t n;

	memset(merge->bitmap, 0, merge->words * sizeof *merge->bitmap);
	for (size_t i = 0; i < rows; i++) {
		uint64_t index = index_at(merge, ind, i);

		merge->bitmap[index / 64] |= 1ull << index % 64;
	}
	n = list_marks(merge, out_ind);
	memset(out_val, 0, n * merge->width * choir_dtype_bytes(merge->dtype));
	for (size_t i = 0; i < rows; i++) {
		uint64_t index = index_at(merge, ind, i), lower = (1ull << index % 64) - 1;
		size_t to = merge->before[index / 64] + (size_t)__builtin_popcountll(merge->bitmap[index / 64] & lower);

		add_row(merge, out_val, to, val, i);
	}
	return n;
}

/* One pass over the digit at shift, from side 0 to side 1; stable. */
static void sort_digit(struct merge *merge, size_t rows, unsigned shift)
{
	size_t starts[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < rows; i++)
		starts[merge->keys[0][i] >> shift & (DIGITS - 1)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = starts[d];

		starts[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < rows; i++) {
		size_t to = starts[merge->keys[0][i] >> shift & (DIGITS - 1)]++;

		merge->keys[1][to] = merge->keys[0][i];
		merge->rows[1][to] = merge->rows[0][i];
	}
}

static void swap_sides(struct merge *merge)
{
	uint64_t *keys = merge->keys[0];
	uint32_t *rows = merge->rows[0];

	merge->keys[0] = merge->keys[1];
	merge->rows[0] = merge->rows[1];
	merge->keys[1] = keys;
	merge->rows[1] = rows;
}

static size_t sum_by_sort(struct merge *merge, const void *ind, const void *val, size_t rows, void *out_ind,
                          void *out_val)
{
	size_t row_bytes = merge->width * choir_dtype_bytes(merge->dtype), n = 0;
	uint64_t largest = 0;

	for (size_t i = 0; i < rows; i++) {
		merge->keys[0][i] = index_at(merge, ind, i);
		merge->rows[0][i] = (uint32_t)i;
		largest |= merge->keys[0][i];
	}
	for (unsigned shift = 0; shift < 64 && largest >> shift != 0; shift += DIGIT_BITS) {
		sort_digit(merge, rows, shift);
		swap_sides(merge);
	}
	for (size_t i = 0; i < rows; i++) {
		if (i > 0 && merge->keys[0][i] == merge->keys[0][i - 1]) {
			add_row(merge, out_val, n - 1, val, merge->rows[0][i]);
			continue;
		}
		set_index(merge, out_ind, n, merge->keys[0][i]);
		memcpy((char *)out_val + n * row_bytes, (const char *)val + merge->rows[0][i] * row_bytes, row_bytes);
		n++;
	}
	return n;
}

size_t merge_sum(struct merge *merge, const void *ind, const void *val, size_t rows, void *out_ind, void *out_val)
{
	if (merge->words > 0)
		return sum_by_bitmap(merge, ind, val, rows, out_ind, out_val);
	return sum_by_sort(merge, ind, val, rows, out_ind, out_val);
}
