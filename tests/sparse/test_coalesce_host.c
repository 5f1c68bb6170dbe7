/* SPDX-License-Identifier: MIT */
/* The ways of the host twin at sizes where their parts change: digits of 12 bits, buckets of many blocks.  Without a
 * device. */
#include "sparse/coalesce_case.h"
#include "sparse/defined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MANY 30000 /* pairs, so that a group of most of them is sorted by the largest digits */

/* What is left of the keys behind the uppermost 8 bits: 23, 24, 25 and 36 bits, so digits of 12 and 11, 12 and 12, 9, 8
 * and 8, three of 12. */
static void sorts_by_every_digit(void **state)
{
	static const struct coalesce_shape shapes[] = {
		{ .name = "31 bits", .n = MANY, .width = 1, .range = UINT64_C(1) << 31, .order = CROWDED, .n_src = 1 },
		{ .name = "32 bits", .n = MANY, .width = 1, .range = UINT64_C(1) << 32, .order = CROWDED, .n_src = 2 },
		{ .name = "33 bits", .n = MANY, .width = 1, .range = UINT64_C(1) << 33, .order = CROWDED, .n_src = 1 },
		{ .name = "44 bits",
		  .n = MANY,
		  .width = 1,
		  .base = 77,
		  .range = UINT64_C(1) << 44,
		  .order = CROWDED,
		  .n_src = 1 },
		{ .name = "rows", .n = MANY, .width = 3, .range = UINT64_C(1) << 32, .order = CROWDED, .n_src = 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		coalesce_case_check(NULL, &shapes[i], CHOIR_F32, CHOIR_OP_SUM, 8, false);
		if (shapes[i].range <= UINT64_C(1) << 31)
			coalesce_case_check(NULL, &shapes[i], CHOIR_BF16, CHOIR_OP_SUM, 4, false);
	}
}

/* Some buckets of several blocks, one of one block, most of what is left empty. */
static void chains_every_dtype_and_operator(void **state)
{
	static const struct coalesce_shape uniform = {
		.name = "uniform", .n = 6000, .width = 1, .base = 5, .range = 100001, .n_src = 1
	};
	static const struct coalesce_shape crowded = {
		.name = "crowded", .n = 4000, .width = 1, .base = 9, .range = 1000003, .order = CROWDED, .n_src = 1
	};

	(void)state;
	for (choir_dtype dtype = CHOIR_I8; dtype < N_DTYPES; dtype++)
		for (choir_op op = CHOIR_OP_SUM; op < N_OPS; op++)
			if (reference_defined(dtype, op))
				coalesce_case_check(NULL, op % 2 != 0 ? &uniform : &crowded, dtype, op,
				                    (op & 2) != 0 ? 4 : 8, true);
}

/* Whole blocks, one pair more, one less: the block's end is where the next begins. */
static void chains_end_anywhere(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 600; n += n < 8 ? 1 : 37) {
		struct coalesce_shape shape = { .name = "ends", .n = n, .width = 1, .range = 60, .n_src = 1 };

		coalesce_case_check(NULL, &shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
		coalesce_case_check(NULL, &shape, CHOIR_F64, CHOIR_OP_MAX, 8, false);
		coalesce_case_check(NULL, &shape, CHOIR_I8, CHOIR_OP_BXOR, 8, false);
	}
	for (size_t n = 84; n <= 87; n++) {
		struct coalesce_shape shape = {
			.name = "a block", .n = n, .width = 1, .range = 40, .order = ALL_EQUAL, .n_src = 1
		};

		coalesce_case_check(NULL, &shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_by_every_digit),
		cmocka_unit_test(chains_every_dtype_and_operator),
		cmocka_unit_test(chains_end_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
