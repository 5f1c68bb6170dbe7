/* SPDX-License-Identifier: MIT */
#include "api/vector.h"

#include <stdlib.h>
#include <xxhash.h>

static choir_status read_blocks(const char *call, int n, uint64_t elem_bytes, const size_t *counts,
                                const size_t *displacements, struct vector *v)
{
	v->hash = XXH64(counts, (size_t)n * sizeof *counts, 0);
	for (int r = 0; r < n; r++) {
		uint64_t *bytes = &v->bytes[r], *off = &v->off[r], last;

		if (__builtin_mul_overflow((uint64_t)counts[r], elem_bytes, bytes) ||
		    __builtin_mul_overflow(displacements != NULL ? (uint64_t)displacements[r] : 0, elem_bytes, off) ||
		    __builtin_add_overflow(v->total, *bytes, &v->total) ||
		    __builtin_add_overflow(*off, *bytes, &last) || v->total > INT64_MAX || last > INT64_MAX)
			return error_set(CHOIR_ARGUMENT,
			                 "%s: the block of rank %d (%zu elements) ends beyond 2^63 bytes", call, r,
			                 counts[r]);
		if (displacements == NULL) {
			*off = v->total - *bytes;
			last = v->total;
		}
		if (*bytes > 0 && last > v->extent)
			v->extent = last;
	}
	return CHOIR_SUCCESS;
}

choir_status vector_read(const char *call, const char *what, int n, uint64_t elem_bytes, const size_t *counts,
                         const size_t *displacements, struct vector *out)
{
	choir_status st;

	out->bytes = NULL;
	if (counts == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: %s is null", call, what);
	out->bytes = n <= VECTOR_FEW ? out->few : malloc(2 * (size_t)n * sizeof *out->bytes);
	if (out->bytes == NULL)
		return error_no_memory("blocks", 2 * (size_t)n * sizeof *out->bytes);
	out->off = out->bytes + n;
	out->total = out->extent = 0;
	st = read_blocks(call, n, elem_bytes, counts, displacements, out);
	if (st != CHOIR_SUCCESS)
		vector_fini(out);
	return st;
}

void vector_fini(struct vector *vector)
{
	if (vector->bytes != vector->few)
		free(vector->bytes);
	vector->bytes = vector->off = NULL;
}

static int by_offset(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* As most are: then nothing need be sorted. */
static bool in_order(int n, const struct vector *vector)
{
	for (uint64_t r = 0, end = 0; r < (uint64_t)n; r++) {
		if (vector->bytes[r] == 0)
			continue;
		if (vector->off[r] < end)
			return false;
		end = vector->off[r] + vector->bytes[r];
	}
	return true;
}

choir_status vector_apart(const char *call, int n, const struct vector *vector)
{
	uint64_t(*spans)[2];
	choir_status st = CHOIR_SUCCESS;

	if (in_order(n, vector))
		return CHOIR_SUCCESS;
	spans = malloc((size_t)n * sizeof *spans);
	if (spans == NULL)
		return error_no_memory("blocks", (size_t)n * sizeof *spans);
	for (int r = 0; r < n; r++) {
		spans[r][0] = vector->off[r];
		spans[r][1] = vector->bytes[r];
	}
	qsort(spans, (size_t)n, sizeof *spans, by_offset);
	for (uint64_t r = 0, end = 0; r < (uint64_t)n && st == CHOIR_SUCCESS; r++) {
		if (spans[r][1] == 0)
			continue;
		if (spans[r][0] < end)
			st = error_set(CHOIR_ARGUMENT, "%s: the blocks at byte %llu overlap", call,
			               (unsigned long long)spans[r][0]);
		end = spans[r][0] + spans[r][1];
	}
	free(spans);
	return st;
}
