/* SPDX-License-Identifier: MIT */
/* Small functions of whole numbers. */
#ifndef BASE_ARITHMETIC_H
#define BASE_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static inline uint64_t round_down(uint64_t bytes, uint64_t unit)
{
	return bytes / unit * unit;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* hash_spread: Fibonacci hashing: the upper 32 bits depend on all lower bits of x, so they number a bucket. */
static inline uint64_t hash_spread(uint64_t x)
{
	return x * UINT64_C(0x9E3779B97F4A7C15);
}

/* compare_i64: for qsort and bsearch. */
static inline int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

#endif
