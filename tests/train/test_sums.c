/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "train/sums.h"

#include <math.h>

#define WIDTH 2

static const int32_t index_of[] = { 1, 4, 9 };
static const float rows_of[] = { 1, -2, 0, 4, 0.5f, 3 };

/* The sums above with one value replaced. */
static enum sums_verdict with(size_t at, float value, double *off_p)
{
	struct sums want = { index_of, rows_of, 3 }, got = want;
	float rows[6];

	for (size_t i = 0; i < 6; i++)
		rows[i] = i == at ? value : rows_of[i];
	got.rows = rows;
	return sums_compare(&want, &got, WIDTH, off_p);
}

static void test_same(void **state)
{
	struct sums none = { index_of, rows_of, 0 };
	double off = -1;

	(void)state;
	assert_int_equal(with(6, 0, &off), SUMS_SAME);
	assert_true(off == 0);
	assert_int_equal(sums_compare(&none, &none, WIDTH, &off), SUMS_SAME);
	assert_true(off == 0);
}

/* Against the largest value there is, 4: a sum near zero may have lost all its digits. */
static void test_rounding(void **state)
{
	double off = -1;

	(void)state;
	assert_int_equal(with(3, 4 + 0x1p-20f, &off), SUMS_ROUNDED);
	assert_true(off == 0x1p-22);
	assert_int_equal(with(2, -0x1p-20f, &off), SUMS_ROUNDED);
	assert_true(off == 0x1p-22);
	assert_int_equal(with(2, -0.0f, &off), SUMS_ROUNDED); /* equal, but not the same bits */
	assert_true(off == 0);
}

static void test_wrong(void **state)
{
	static const int32_t other_index[] = { 1, 5, 9 };
	struct sums want = { index_of, rows_of, 3 }, got = want;
	double off = -1;

	(void)state;
	assert_int_equal(with(0, 1.001f, &off), SUMS_WRONG);
	assert_true(off > 2e-4 && off < 3e-4);
	assert_int_equal(with(0, NAN, &off), SUMS_WRONG);
	assert_true(off == INFINITY);
	got.index = other_index;
	assert_int_equal(sums_compare(&want, &got, WIDTH, &off), SUMS_WRONG);
	got = want;
	got.n = 2;
	assert_int_equal(sums_compare(&want, &got, WIDTH, &off), SUMS_WRONG);
	assert_int_equal(sums_compare(&got, &want, WIDTH, &off), SUMS_WRONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
