/* SPDX-License-Identifier: MIT */
/* Sums of ascending lists against a plain reference, for both types of index and value, bit for bit. */
#include "topk/list.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4, RANGE = 400 };

static struct topk_types types_of(uint32_t index_bytes, choir_dtype dtype)
{
	struct topk_types types = topk_types_of(RANGE, dtype);

	types.form.bytes = index_bytes;
	return types;
}

static void put(const struct topk_types *types, struct topk_list *list, int64_t index, double value)
{
	if (types->form.bytes == 4)
		((int32_t *)list->ind.ptr)[list->count] = (int32_t)index;
	else
		((int64_t *)list->ind.ptr)[list->count] = index;
	if (types->elem_bytes == 4)
		((float *)list->val.ptr)[list->count] = (float)value;
	else
		((double *)list->val.ptr)[list->count] = value;
	list->count++;
}

static double value_of(const struct topk_types *types, const struct topk_list *list, uint64_t i)
{
	return types->elem_bytes == 4 ? (double)((const float *)list->val.ptr)[i] : ((const double *)list->val.ptr)[i];
}

/* Index x of list s, if the list has it; some values are -0. */
static bool has(int s, int64_t x, unsigned part)
{
	return (uint64_t)(x * 7 + s * 5 + x / 50) % 10 < part;
}

static double given(int s, int64_t x)
{
	return x % 9 == 0 ? -0.0 : (double)(x % 31 - 15) / 8 + s;
}

static void check_sum(const struct topk_types *types, const struct topk_list *sum, int n, unsigned part)
{
	uint64_t at = 0;

	for (int64_t x = 0; x < RANGE; x++) {
		double expected = 0;
		bool any = false;

		for (int s = 0; s < n; s++)
			if (has(s, x, part)) {
				expected = any ? expected + given(s, x) : given(s, x);
				any = true;
			}
		if (!any)
			continue;
		assert_true(at < sum->count);
		assert_int_equal(index_at(sum->ind.ptr, types->form, at), x);
		assert_true(value_of(types, sum, at) == expected);
		assert_int_equal(signbit(value_of(types, sum, at)) != 0, signbit(expected) != 0);
		at++;
	}
	assert_int_equal(sum->count, at);
}

static void merge(uint32_t index_bytes, choir_dtype dtype, int n, unsigned part)
{
	struct topk_types types = types_of(index_bytes, dtype);
	struct topk_list lists[MOST] = { { .count = 0 } }, sum = { .count = 0 };
	struct pairs pairs[MOST];

	for (int s = 0; s < n; s++) {
		assert_int_equal(list_take(&lists[s], &types, RANGE), CHOIR_SUCCESS);
		for (int64_t x = 0; x < RANGE; x++)
			if (has(s, x, part))
				put(&types, &lists[s], x, given(s, x));
		pairs[s] = list_pairs(&lists[s], &types);
	}
	assert_int_equal(list_merge(&sum, &types, pairs, (uint32_t)n), CHOIR_SUCCESS);
	check_sum(&types, &sum, n, part);
	for (int s = 0; s < n; s++)
		list_free(&lists[s]);
	list_free(&sum);
}

static void sums_of_lists(void **state)
{
	(void)state;
	for (int n = 0; n <= MOST; n++)
		for (unsigned part = 0; part <= 10; part += 5)
			for (uint32_t index_bytes = 4; index_bytes <= 8; index_bytes += 4) {
				merge(index_bytes, CHOIR_F32, n, part);
				merge(index_bytes, CHOIR_F64, n, part);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sums_of_lists) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
