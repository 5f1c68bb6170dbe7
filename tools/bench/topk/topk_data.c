/* SPDX-License-Identifier: MIT */
#include "bench/sparse/sparse_ids.h"
#include "topk_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_BITS = 16, COMMON = 1000, SHARED = 2000, FURTHER = 8191 };

/* About normal: a sum of uniform numbers.  Heavy: divided by another one, so that the largest of n are n times the
 * middle ones. */
static float draw(uint64_t stream, size_t i, bool heavy)
{
	uint64_t random = sparse_ids_random(stream, i);
	float sum = 0;

	for (int part = 0; part < 4; part++)
		sum += (float)(random >> part * PART_BITS & 0xffff) * 0x1p-16f;
	sum = (sum - 2) * 1.7320508f;
	return heavy ? sum / ((float)(random * UINT64_C(0x9e3779b97f4a7c15) >> 40) * 0x1p-24f + 0x1p-24f) : sum;
}

/* Cut, not rounded, to the type; of f16 below its smallest normal number nothing, above its largest that one. */
static void put(choir_dtype dtype, float x, void *to, size_t i)
{
	uint32_t bits;
	uint16_t sign, half;

	memcpy(&bits, &x, 4);
	sign = (uint16_t)(bits >> 16 & 0x8000u);
	half = (bits & 0x7fffffffu) < 0x38800000u ? 0
	       : (bits & 0x7fffffffu) > 0x477fe000u
	           ? 0x7bffu
	           : (uint16_t)(((bits >> 23 & 255u) - 112) << 10 | (bits >> 13 & 1023u));
	if (dtype == CHOIR_F64)
		((double *)to)[i] = (double)x;
	else if (dtype == CHOIR_F32)
		((float *)to)[i] = x;
	else
		((uint16_t *)to)[i] = dtype == CHOIR_BF16 ? (uint16_t)(bits >> 16) : (uint16_t)(sign | half);
}

/* Is a position's value the same on all ranks? */
static bool is_shared(size_t i, double overlap)
{
	return (double)(sparse_ids_random(SHARED, i) >> 11) * 0x1p-53 < overlap;
}

/* The file again and again; at positions that are not shared, a rank has what stands further on. */
static bool read_file(const char *path, size_t elem_bytes, size_t n, int rank, double overlap, unsigned char *to)
{
	FILE *file = fopen(path, "rb");
	unsigned char *values;
	size_t got = 0;

	if (file == NULL)
		return false;
	errno = 0;
	values = malloc(n * elem_bytes + 1);
	if (values != NULL)
		got = fread(values, elem_bytes, n, file);
	for (size_t i = 0; i < n && got > 0; i++) {
		size_t from = i + (is_shared(i, overlap) ? 0 : (size_t)rank * FURTHER);

		memcpy(to + i * elem_bytes, values + from % got * elem_bytes, elem_bytes);
	}
	fclose(file);
	free(values);
	return got > 0;
}

void *topk_data_make(choir_dtype dtype, size_t n, int rank, const char *values, double overlap)
{
	size_t elem_bytes = choir_dtype_bytes(dtype);
	unsigned char *all = malloc(n * elem_bytes + 1);
	bool heavy = strcmp(values, "heavy") == 0;

	if (all == NULL || heavy || strcmp(values, "normal") == 0) {
		for (size_t i = 0; all != NULL && i < n; i++) {
			uint64_t stream = is_shared(i, overlap) ? COMMON : (uint64_t)rank + 1;

			put(dtype, draw(stream, i, heavy), all, i);
		}
		return all;
	}
	if (read_file(values, elem_bytes, n, rank, overlap, all))
		return all;
	free(all);
	return NULL;
}
