/* SPDX-License-Identifier: MIT */
/* The calls on one device give exactly what a plain reference gives, in memory of every kind, and write nothing
 * else. */
#include "topk/pairs_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void put_index(void *to, choir_dtype dtype, size_t at, int64_t index)
{
	if (dtype == CHOIR_I32)
		((int32_t *)to)[at] = (int32_t)index;
	else
		((int64_t *)to)[at] = index;
}

/* The key by which magnitudes compare: the bits without the sign. */
static uint64_t key_of(const unsigned char *val, size_t bytes, size_t i)
{
	uint64_t key = 0;

	memcpy(&key, val + i * bytes, bytes);
	return key & UINT64_MAX >> (65 - 8 * bytes);
}

struct place {
	uint64_t key;
	size_t at;
};

static int larger_first(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->at > y->at ? 1 : -1;
}

static int lower_first(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at > y->at ? 1 : x->at < y->at ? -1 : 0;
}

/* The first k places, as pairs. */
static void pairs_of(struct place *place, size_t k, const unsigned char *val, size_t bytes, choir_dtype ind_dtype,
                     void *ind, unsigned char *to)
{
	qsort(place, k, sizeof *place, lower_first);
	for (size_t i = 0; i < k; i++) {
		put_index(ind, ind_dtype, i, (int64_t)place[i].at);
		memcpy(to + i * bytes, val + place[i].at * bytes, bytes);
	}
}

static void select_case(int kind, choir_dtype dtype, choir_dtype ind_dtype, size_t n, size_t k, bool ties)
{
	size_t bytes = choir_dtype_bytes(dtype), ind_bytes = choir_dtype_bytes(ind_dtype), room = k, above = 0;
	unsigned char *val = malloc(n * bytes + 1), *want = malloc(n * bytes + 1);
	void *ind = malloc(n * 8 + 1);
	struct place *place = malloc((n + 1) * sizeof *place);
	struct memory from, to_ind, to_val;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = pairs_draw();

		if (ties) /* few magnitudes, both signs, NaN among them */
			x = x % 5 << (8 * bytes - 5) | (x >> 60 & 1) << (8 * bytes - 1);
		memcpy(val + i * bytes, &x, bytes);
		place[i] = (struct place){ key_of(val, bytes, i), i };
	}
	qsort(place, n, sizeof *place, larger_first);
	from = pairs_make(kind, val, n * bytes);
	to_ind = pairs_make(kind, NULL, (k + 2) * ind_bytes);
	to_val = pairs_make(kind, NULL, (k + 2) * bytes);
	GOOD(choir_select_top(pairs_device, from.buffer, n, dtype, k, to_ind.buffer, ind_dtype, to_val.buffer, NULL,
	                      NULL));
	pairs_of(place, k, val, bytes, ind_dtype, ind, want);
	pairs_is(&to_ind, ind, k * ind_bytes);
	pairs_is(&to_val, want, k * bytes);
	pairs_is(&from, val, n * bytes);
	pairs_drop(&from, &to_ind, &to_val, NULL);

	if (dtype == CHOIR_F32) { /* the same by a threshold: 1.5 */
		const float *x = (const float *)(const void *)val;

		for (size_t i = 0; i < n; i++)
			if (isnan(x[i]) || fabsf(x[i]) >= 1.5f)
				place[above++] = (struct place){ 0, i };
		from = pairs_make(kind, val, n * bytes);
		to_ind = pairs_make(kind, NULL, (above + 2) * ind_bytes);
		to_val = pairs_make(kind, NULL, (above + 2) * bytes);
		room = above;
		GOOD(choir_select_above(pairs_device, from.buffer, n, dtype, 1.5, to_ind.buffer, ind_dtype,
		                        to_val.buffer, &room, NULL, NULL));
		assert_int_equal(room, above);
		pairs_of(place, above, val, bytes, ind_dtype, ind, want);
		pairs_is(&to_ind, ind, above * ind_bytes);
		pairs_is(&to_val, want, above * bytes);
		pairs_drop(&from, &to_ind, &to_val, NULL);
	}
	free(val);
	free(want);
	free(ind);
	free(place);
}

static void selections(void **state)
{
	static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_F64, CHOIR_F16, CHOIR_BF16 };
	static const size_t sizes[] = { 0, 1, 7, 3000, 70001 };

	(void)state;
	for (int kind = 0; kind < KINDS - !pairs_has_svm(); kind++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
			for (int d = 0; d < 4; d++) {
				size_t n = sizes[s];

				select_case(kind, dtypes[d], CHOIR_I32, n, n / 50, false);
				select_case(kind, dtypes[d], d % 2 ? CHOIR_I32 : CHOIR_I64, n, n / 3, true);
				select_case(kind, dtypes[d], CHOIR_I64, n, n, true);
			}
}

/* Which values reach a threshold that their type cannot hold: the next larger one, not the nearest. */
static void thresholds(void **state)
{
	static const uint16_t half[] = { 0x3c00, 0x3c01, 0xbc01, 0x7bff, 0x7c00, 0x7e00, 0x0000, 0x8000 };
	static const struct {
		double threshold;
		size_t pairs;
	} cases[] = { { 0, 8 },     { 0x1p-30, 6 }, { 1, 6 },     { 1.0001, 5 },  { 1.001, 3 },
		      { 65504, 3 }, { 65505, 2 },   { 1e300, 2 }, { INFINITY, 2 } };
	uint16_t val[8];
	int32_t ind[8];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t n = 8;

		GOOD(choir_select_above(pairs_device, choir_host(half), 8, CHOIR_F16, cases[i].threshold,
		                        choir_host(ind), CHOIR_I32, choir_host(val), &n, NULL, NULL));
		assert_int_equal(n, cases[i].pairs);
	}
}

static void rows_case(int kind, choir_dtype dtype, choir_dtype ind_dtype, size_t rows, size_t width, size_t n)
{
	size_t row = width * choir_dtype_bytes(dtype), ind_bytes = choir_dtype_bytes(ind_dtype);
	unsigned char *table = malloc(rows * row + 1), *got = malloc(n * row + 1);
	void *ind = malloc(n * 8 + 1);
	struct memory list, from, to;

	for (size_t i = 0; i < rows * row; i++)
		table[i] = (unsigned char)pairs_draw();
	for (size_t i = 0; i < n; i++) {
		size_t x = pairs_draw() % rows;

		put_index(ind, ind_dtype, i, (int64_t)x);
		memcpy(got + i * row, table + x * row, row);
	}
	list = pairs_make(kind, ind, n * ind_bytes);
	from = pairs_make(kind, table, rows * row);
	to = pairs_make(kind, NULL, (n + 1) * row);
	GOOD(choir_gather_rows(pairs_device, list.buffer, n, ind_dtype, from.buffer, rows, width, dtype, to.buffer,
	                       NULL, NULL));
	pairs_is(&to, got, n * row);
	pairs_drop(&list, &from, &to, NULL);

	n = n < rows ? n : rows; /* distinct: every index once, backwards */
	for (size_t i = 0; i < n; i++) {
		put_index(ind, ind_dtype, i, (int64_t)(rows - 1 - i));
		memcpy(table + (rows - 1 - i) * row, got + i * row, row);
	}
	list = pairs_make(kind, ind, n * ind_bytes);
	from = pairs_make(kind, got, n * row);
	to = pairs_make(kind, table, rows * row);
	for (size_t i = 0; i < n * row; i++) /* what is to be replaced is something else before */
		memory_payload(&to)[rows * row - 1 - i] ^= 0x55;
	memory_push(&to);
	if (kind == 2)
		memcpy(to.buffer.base, memory_payload(&to), rows * row);
	GOOD(choir_scatter_rows(pairs_device, list.buffer, n, ind_dtype, from.buffer, to.buffer, rows, width, dtype,
	                        NULL, NULL));
	pairs_is(&to, table, rows * row);
	pairs_drop(&list, &from, &to, NULL);
	free(table);
	free(got);
	free(ind);
}

static void rows(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS - !pairs_has_svm(); kind++) {
		rows_case(kind, CHOIR_F32, CHOIR_I32, 1000, 1, 300);
		rows_case(kind, CHOIR_F64, CHOIR_I64, 40, 3, 100);
		rows_case(kind, CHOIR_BF16, CHOIR_I32, 70000, 1, 66000);
		rows_case(kind, CHOIR_U8, CHOIR_I64, 9, 5, 9);
		rows_case(kind, CHOIR_F32, CHOIR_I64, 3, 2, 0);
	}
}

static void intersect_case(int kind, choir_dtype ind_dtype, size_t n, size_t among_n, uint64_t range)
{
	size_t bytes = choir_dtype_bytes(ind_dtype);
	int64_t *a = malloc(n * 8 + 8), *b = malloc(among_n * 8 + 8);
	void *ind = malloc(n * 8 + 8), *among = malloc(among_n * 8 + 8);
	unsigned char *want = calloc(n + 1, 1);
	struct memory list, others, found;

	for (size_t i = 0; i < among_n; i++)
		put_index(among, ind_dtype, i, b[i] = (int64_t)(pairs_draw() % range));
	for (size_t i = 0; i < n; i++) {
		a[i] = i % 2 && among_n > 0 ? b[pairs_draw() % among_n] : (int64_t)(pairs_draw() % range) - (i == 4);
		put_index(ind, ind_dtype, i, a[i]);
		for (size_t j = 0; j < among_n; j++)
			want[i] |= a[i] == b[j];
	}
	list = pairs_make(kind, ind, n * bytes);
	others = pairs_make(kind, among, among_n * bytes);
	found = pairs_make(kind, NULL, n + 3);
	GOOD(
	    choir_intersect(pairs_device, list.buffer, n, others.buffer, among_n, ind_dtype, found.buffer, NULL, NULL));
	pairs_is(&found, want, n);
	pairs_drop(&list, &others, &found, NULL);
	free(a);
	free(b);
	free(ind);
	free(among);
	free(want);
}

static void intersections(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS - !pairs_has_svm(); kind++) {
		intersect_case(kind, CHOIR_I32, 700, 900, 1500);
		intersect_case(kind, CHOIR_I32, 20, 0, 10);
		intersect_case(kind, CHOIR_I64, 0, 10, 10);
		intersect_case(kind, CHOIR_I64, 300, 300, UINT64_C(1) << 62); /* far too wide for a bitmap */
		intersect_case(kind, CHOIR_I64, 1000, 1, 3);
	}
}

static void coalesce_case(int kind, choir_dtype ind_dtype, choir_op op, size_t n, size_t width, size_t range)
{
	size_t bytes = choir_dtype_bytes(ind_dtype), distinct = 0, room;
	int64_t *sum = calloc(range * width, 8);
	int32_t *val = malloc(n * width * 4 + 4), *want = malloc(range * width * 4);
	bool *there = calloc(range, 1);
	void *ind = malloc(n * 8 + 8), *want_ind = malloc(range * 8);
	struct memory list, values, to_ind, to_val;

	for (size_t i = 0; i < n; i++) {
		size_t x = pairs_draw() % range;

		put_index(ind, ind_dtype, i, (int64_t)x);
		for (size_t w = 0; w < width; w++) {
			int32_t v = val[i * width + w] = (int32_t)(pairs_draw() % 2001) - 1000;
			int64_t *s = &sum[x * width + w];

			*s = op == CHOIR_OP_SUM || !there[x] ? *s + v : *s > v ? *s : v;
		}
		there[x] = true;
	}
	for (size_t x = 0; x < range; x++) {
		if (!there[x])
			continue;
		put_index(want_ind, ind_dtype, distinct, (int64_t)x);
		for (size_t w = 0; w < width; w++)
			want[distinct * width + w] = (int32_t)sum[x * width + w];
		distinct++;
	}
	list = pairs_make(kind, ind, n * bytes);
	values = pairs_make(kind, val, n * width * 4);
	to_ind = pairs_make(kind, NULL, (distinct + 1) * bytes);
	to_val = pairs_make(kind, NULL, (distinct + 1) * width * 4);
	room = distinct + 1;
	GOOD(choir_coalesce_rows(pairs_device, list.buffer, n, values.buffer, n * width, ind_dtype, CHOIR_I32, op,
	                         to_ind.buffer, to_val.buffer, &room, NULL, NULL));
	assert_int_equal(room, distinct);
	pairs_is(&to_ind, want_ind, distinct * bytes);
	pairs_is(&to_val, want, distinct * width * 4);
	pairs_drop(&list, &values, &to_ind, &to_val);
	free(sum);
	free(val);
	free(want);
	free(there);
	free(ind);
	free(want_ind);
}

static void coalescings(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS - !pairs_has_svm(); kind++) {
		coalesce_case(kind, CHOIR_I32, CHOIR_OP_SUM, 5000, 1, 3000);
		coalesce_case(kind, CHOIR_I64, CHOIR_OP_MAX, 700, 3, 90);
		coalesce_case(kind, CHOIR_I64, CHOIR_OP_SUM, 1, 7, 1);
		coalesce_case(kind, CHOIR_I32, CHOIR_OP_SUM, 0, 1, 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(selections), cmocka_unit_test(thresholds),
		                            cmocka_unit_test(rows), cmocka_unit_test(intersections),
		                            cmocka_unit_test(coalescings) };

	return cmocka_run_group_tests(tests, pairs_open, pairs_close);
}
