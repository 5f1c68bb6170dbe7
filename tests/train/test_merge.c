/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "train/merge.h"

#include <string.h>

static void test_sums_duplicates(void **state)
{
	static const int32_t index[] = { 7, 2, 7, 0, 2, 7 };
	static const float rows[] = { 1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60 };
	static const int32_t want_index[] = { 7, 2, 0 };
	static const float want_rows[] = { 10, 100, 7, 70, 4, 40 };
	struct merger merger;
	int32_t out_index[6];
	float out_rows[12];

	(void)state;
	assert_int_equal(merger_init(&merger, 8), CHOIR_SUCCESS);
	for (int again = 0; again < 2; again++) { /* it leaves its table as it was */
		assert_int_equal(merger_run(&merger, index, rows, 6, 2, out_index, out_rows), 3);
		assert_memory_equal(out_index, want_index, sizeof want_index);
		assert_memory_equal(out_rows, want_rows, sizeof want_rows);
	}
	assert_int_equal(merger_run(&merger, index, rows, 0, 2, out_index, out_rows), 0);
	merger_fini(&merger);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums_duplicates) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
