/* SPDX-License-Identifier: MIT */
/* Regions: 64-bit arithmetic where the sum of all votes needs more than 31 bits, or 64. */
#include "topk/cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void votes_beyond_31_bits(void **state)
{
	uint64_t votes[3 * 3] = { 0, 1000000001, 2000000001, 0, 1000000002, 2000000000, 0, 1000000005, 2100000000 };
	uint64_t bounds[4];

	(void)state;
	cut_average(votes, 3, 3000000000, bounds);
	assert_true(bounds[0] == 0 && bounds[1] == 1000000002 && bounds[2] == 2033333333 && bounds[3] == 3000000000);
}

static void votes_beyond_64_bits(void **state)
{
	uint64_t votes[2 * 2] = { 0, UINT64_MAX, 0, UINT64_MAX - 3 }, bounds[3];

	(void)state;
	cut_average(votes, 2, UINT64_MAX, bounds);
	assert_true(bounds[1] == UINT64_MAX - 2);
}

static void even_parts(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 40; n++)
		for (uint64_t parts = 1; parts < 10; parts++) {
			assert_true(cut_even(n, 0, parts) == 0 && cut_even(n, parts, parts) == n);
			for (uint64_t r = 0; r < parts; r++) {
				uint64_t size = cut_even(n, r + 1, parts) - cut_even(n, r, parts);

				assert_true(size == n / parts || size == n / parts + 1);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(votes_beyond_31_bits),
		                            cmocka_unit_test(votes_beyond_64_bits), cmocka_unit_test(even_parts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
