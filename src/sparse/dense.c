/* SPDX-License-Identifier: MIT */
#include "sparse/dense.h"

/* Rows of one element of a machine word, the usual case, are moved without a call each. */
static inline void move(void *to, const void *from, uint64_t row_bytes)
{
	if (row_bytes == 4)
		memcpy(to, from, 4);
	else if (row_bytes == 2)
		memcpy(to, from, 2);
	else if (row_bytes == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, row_bytes);
}

static inline void clear(void *to, uint64_t row_bytes)
{
	if (row_bytes == 4)
		memset(to, 0, 4);
	else if (row_bytes == 2)
		memset(to, 0, 2);
	else if (row_bytes == 8)
		memset(to, 0, 8);
	else
		memset(to, 0, row_bytes);
}

/* Rows and indices of 4 bytes, the most frequent ones, in loops without a question. */
static bool all_4(struct index_form form, uint64_t row_bytes)
{
	return form.bytes == 4 && row_bytes == 4;
}

static void scatter_4(const int32_t *ind, const unsigned char *rows, uint64_t n, int64_t shift, unsigned char *dense)
{
	for (uint64_t i = 0; i < n; i++)
		memcpy(dense + (ind[i] + shift) * 4, rows + i * 4, 4);
}

static void zero_4(const int32_t *ind, uint64_t n, int64_t shift, unsigned char *dense)
{
	for (uint64_t i = 0; i < n; i++)
		memset(dense + (ind[i] + shift) * 4, 0, 4);
}

void dense_scatter(const struct pairs *pairs, uint64_t row_bytes, int64_t lo, void *dense)
{
	if (all_4(pairs->form, row_bytes)) {
		scatter_4(pairs->ind, pairs->rows, pairs->count, pairs->form.base - lo, dense);
		return;
	}
	for (uint64_t i = 0; i < pairs->count; i++)
		move((unsigned char *)dense + (uint64_t)(index_at(pairs->ind, pairs->form, i) - lo) * row_bytes,
		     pairs->rows + i * row_bytes, row_bytes);
}

void dense_gather(const void *ind, struct index_form form, uint64_t n, uint64_t row_bytes, int64_t lo,
                  const void *dense, void *rows)
{
	for (uint64_t i = 0; i < n; i++)
		move((unsigned char *)rows + i * row_bytes,
		     (const unsigned char *)dense + (uint64_t)(index_at(ind, form, i) - lo) * row_bytes, row_bytes);
}

void dense_zero(const void *ind, struct index_form form, uint64_t n, uint64_t row_bytes, int64_t lo, void *dense)
{
	if (all_4(form, row_bytes)) {
		zero_4(ind, n, form.base - lo, dense);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		clear((unsigned char *)dense + (uint64_t)(index_at(ind, form, i) - lo) * row_bytes, row_bytes);
}

void dense_contains(const void *ind, struct index_form form, uint64_t n, int64_t lo, const uint64_t *bitmap,
                    uint64_t words, uint8_t *found)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t x = (uint64_t)index_at(ind, form, i) - (uint64_t)lo;

		found[i] = x / 64 < words && (bitmap[x / 64] >> (x % 64) & 1);
	}
}
