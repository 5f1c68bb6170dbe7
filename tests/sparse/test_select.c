/* SPDX-License-Identifier: MIT */
/* Selection by magnitude: the host twin against sorting, with ties, NaN, zeros of both signs, odd sizes, too little
 * capacity. */
#include "sparse/select.h"
#include "sparse/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD    64
#define SENTINEL 0x5a

struct element {
	uint64_t key, at;
};

static int largest_first(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static int by_position(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

enum data { RANDOM, TIES, EQUAL, SPECIAL, N_DATA };

static unsigned char *make(enum data data, uint32_t elem_bytes, size_t n, uint64_t seed)
{
	unsigned char *val = malloc(n * elem_bytes + 1);
	static const uint64_t specials[] = {
		0, 1, UINT64_MAX, UINT64_MAX >> 1, UINT64_C(0x8000800080008000), UINT64_C(0x7f807f807f807f80)
	};

	for (size_t i = 0; i < n; i++) {
		uint64_t bits = reference_next(&seed);

		if (data == TIES)
			bits = bits % 5 << (8 * elem_bytes - 6) | (bits >> 40 & 1) << (8 * elem_bytes - 1);
		else if (data == EQUAL)
			bits = UINT64_C(0x3f803f803f803f80);
		else if (data == SPECIAL)
			bits = specials[bits % 6];
		memcpy(val + i * elem_bytes, &bits, elem_bytes);
	}
	return val;
}

static void check(const struct select_input *in, const struct element *want, size_t n, const struct select_output *got)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(index_at(got->ind, got->form, i), want[i].at);
		assert_memory_equal((const char *)got->val + i * in->elem_bytes,
		                    (const char *)in->val + want[i].at * in->elem_bytes, in->elem_bytes);
	}
	for (size_t i = 0; i < GUARD; i++) {
		assert_int_equal(((const unsigned char *)got->ind)[got->capacity * got->form.bytes + i], SENTINEL);
		assert_int_equal(((const unsigned char *)got->val)[got->capacity * in->elem_bytes + i], SENTINEL);
	}
}

static struct select_output room(const struct select_input *in, size_t capacity, uint32_t ind_bytes)
{
	struct select_output out = { .form = { .bytes = ind_bytes }, .capacity = capacity };

	out.ind = malloc(capacity * ind_bytes + GUARD);
	out.val = malloc(capacity * in->elem_bytes + GUARD);
	memset(out.ind, SENTINEL, capacity * ind_bytes + GUARD);
	memset(out.val, SENTINEL, capacity * in->elem_bytes + GUARD);
	return out;
}

static void one_top(const struct select_input *in, const struct element *sorted, size_t k, size_t capacity)
{
	struct select_output out = room(in, capacity, k % 2 == 0 ? 4 : 8);
	struct element *want = malloc((k + 1) * sizeof *want);
	struct select_limit limit;

	memcpy(want, sorted, k * sizeof *want);
	qsort(want, k, sizeof *want, by_position);
	assert_int_equal(select_top(in, k, &out, &limit), CHOIR_SUCCESS);
	check(in, want, k < capacity ? k : capacity, &out);
	assert_int_equal(select_host(in, limit, &out), k);
	check(in, want, k < capacity ? k : capacity, &out);
	if (k > 0)
		assert_true(limit.key == sorted[k - 1].key);
	free(out.ind);
	free(out.val);
	free(want);
}

static void one_threshold(const struct select_input *in, const struct element *sorted, size_t k)
{
	struct select_output out = room(in, in->n, 4);
	size_t reach = k;
	struct element *want;

	while (reach < in->n && sorted[reach].key == sorted[k - 1].key)
		reach++;
	want = malloc(reach * sizeof *want);
	memcpy(want, sorted, reach * sizeof *want);
	qsort(want, reach, sizeof *want, by_position);
	assert_int_equal(select_host(in, (struct select_limit){ sorted[k - 1].key, UINT64_MAX }, &out), reach);
	check(in, want, reach, &out);
	free(out.ind);
	free(out.val);
	free(want);
}

/* Pairs of which a limit selects some, apart and in place, with room for all and for fewer. */
static void one_pairs(const struct select_input *in, struct select_limit limit, uint32_t ind_bytes, size_t capacity)
{
	struct select_output from = room(in, in->n, ind_bytes), out = room(in, capacity, ind_bytes);
	struct element *want = malloc((in->n + 1) * sizeof *want);
	uint64_t ties = limit.ties;
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++) {
		uint64_t key = select_key(in->elem_bytes, (const char *)in->val + i * in->elem_bytes);
		bool tie = key == limit.key && ties > 0;

		if (ind_bytes == 4)
			((int32_t *)from.ind)[i] = (int32_t)i;
		else
			((int64_t *)from.ind)[i] = (int64_t)i;
		if ((key > limit.key || tie) && n < capacity)
			want[n++] = (struct element){ key, i };
		ties -= tie;
	}
	memcpy(from.val, in->val, in->n * in->elem_bytes);
	assert_int_equal(select_pairs(&from, in->n, in->elem_bytes, limit, &out, capacity), n);
	check(in, want, n, &out);
	assert_int_equal(select_pairs(&from, in->n, in->elem_bytes, limit, &from, capacity), n);
	check(in, want, n, &from);
	free(from.ind);
	free(from.val);
	free(out.ind);
	free(out.val);
	free(want);
}

static void one_input(enum data data, uint32_t elem_bytes, size_t n)
{
	struct select_input in = { .val = make(data, elem_bytes, n, n + (size_t)data),
		                   .elem_bytes = elem_bytes,
		                   .n = n };
	struct element *sorted = malloc((n + 1) * sizeof *sorted);
	size_t ks[] = { 0, 1, 2, n / 1000, n / 50 + 1, n / 2, n - (n > 0), n };

	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct element){ select_key(elem_bytes, (const char *)in.val + i * elem_bytes), i };
	qsort(sorted, n, sizeof *sorted, largest_first);
	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
		if (ks[i] > n)
			continue;
		one_top(&in, sorted, ks[i], ks[i]);
		one_top(&in, sorted, ks[i], ks[i] / 2);
		if (ks[i] == 0)
			continue;
		one_threshold(&in, sorted, ks[i]);
		for (uint32_t ind_bytes = 4; ind_bytes <= 8; ind_bytes += 4) {
			struct select_limit all = { sorted[ks[i] - 1].key, UINT64_MAX }, few = { all.key, ks[i] % 7 };

			one_pairs(&in, all, ind_bytes, n);
			one_pairs(&in, few, ind_bytes, n);
			one_pairs(&in, few, ind_bytes, n / 3);
			one_pairs(&in, (struct select_limit){ UINT64_MAX, 0 }, ind_bytes, n);
		}
	}
	free(sorted);
	free((void *)in.val);
}

static void against_sorting(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 63, 64, 65, 1000, 70001, 300000 };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (uint32_t bytes = 2; bytes <= 8; bytes *= 2)
			for (int data = 0; data < N_DATA; data++)
				one_input((enum data)data, bytes, sizes[s]);
}

/* The sample is blind to what lies between its elements: the first pivot finds nothing, a later one must. */
static void misleading_sample(void **state)
{
	size_t n = 16384 * 64, k = 3000;
	float *val = calloc(n, sizeof *val);
	struct select_input in = { .val = val, .elem_bytes = 4, .n = n };
	struct element *sorted = malloc(n * sizeof *sorted);

	(void)state;
	for (size_t i = 0; i < n; i++)
		val[i] = i % 64 == i / 64 % 64 ? 1 + (float)(i % 977) : (float)(i % 31) / 64;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct element){ select_key(4, &val[i]), i };
	qsort(sorted, n, sizeof *sorted, largest_first);
	one_top(&in, sorted, k, k);
	for (size_t i = 0; i < n; i++)
		val[i] = i % 64 == i / 64 % 64 ? 5 : (float)(i % 31) / 64;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct element){ select_key(4, &val[i]), i };
	qsort(sorted, n, sizeof *sorted, largest_first);
	one_top(&in, sorted, k, k);
	one_top(&in, sorted, 50000, 50000);
	free(sorted);
	free(val);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(against_sorting), cmocka_unit_test(misleading_sample) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
