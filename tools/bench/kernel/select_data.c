/* SPDX-License-Identifier: MIT */
/* Values to select from, and what a plain reference says of them. */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUARTER_BITS = 16 };

/* About normal: a sum of uniform numbers.  With heavy tails: divided by another uniform one, so that the largest of n
 * are n times the middle ones. */
static float draw(size_t i, bool heavy_tailed)
{
	uint64_t random = sparse_ids_random(0x11, i);
	float sum = 0;

	for (int part = 0; part < 4; part++)
		sum += (float)(random >> part * QUARTER_BITS & 0xffff) * 0x1p-16f;
	sum = (sum - 2) * 1.7320508f;
	return heavy_tailed ? sum / ((float)(sparse_ids_random(0x12, i) >> 40) * 0x1p-24f + 0x1p-24f) : sum;
}

/* Cut, not rounded, to the type; f16 within its normal numbers. */
static void put(choir_dtype dtype, float x, void *val, size_t i)
{
	double wide = x;
	uint32_t bits;

	if (dtype == CHOIR_F16)
		x = fabsf(x) < 0x1p-14f ? 0 : fabsf(x) > 65504 ? copysignf(65504, x) : x;
	memcpy(&bits, &x, 4);
	if (dtype == CHOIR_F64)
		((double *)val)[i] = wide;
	else if (dtype == CHOIR_F32)
		((float *)val)[i] = x;
	else if (dtype == CHOIR_BF16)
		((uint16_t *)val)[i] = (uint16_t)(bits >> 16);
	else
		((uint16_t *)val)[i] =
		    (uint16_t)((bits >> 16 & 0x8000u) |
		               (x == 0 ? 0 : ((bits >> 23 & 255u) - 112) << 10 | (bits >> 13 & 1023u)));
}

void *select_data_make(choir_dtype dtype, size_t n, bool heavy_tailed)
{
	void *val = malloc(n * choir_dtype_bytes(dtype) + 1);

	for (size_t i = 0; val != NULL && i < n; i++)
		put(dtype, draw(i, heavy_tailed), val, i);
	return val;
}

uint64_t select_data_key(size_t elem_bytes, const void *val, size_t i)
{
	if (elem_bytes == 2)
		return ((const uint16_t *)val)[i] & 0x7fffu;
	if (elem_bytes == 4)
		return ((const uint32_t *)val)[i] & 0x7fffffffu;
	return ((const uint64_t *)val)[i] & 0x7fffffffffffffffu;
}

/* Hoare's selection: key[k] is what it would be in descending order. */
static uint64_t pick(uint64_t *key, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		uint64_t pivot = key[lo + (hi - lo) / 2], swap;
		size_t i = lo, j = hi;

		for (;; i++, j--) {
			while (key[i] > pivot)
				i++;
			while (key[j] < pivot)
				j--;
			if (i >= j)
				break;
			swap = key[i];
			key[i] = key[j];
			key[j] = swap;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return key[k];
}

bool select_data_kth(size_t elem_bytes, const void *val, size_t n, size_t k, uint64_t *key_p)
{
	uint64_t *key = malloc(n * sizeof *key);

	if (key == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		key[i] = select_data_key(elem_bytes, val, i);
	*key_p = pick(key, n, k - 1);
	free(key);
	return true;
}
