/* SPDX-License-Identifier: MIT */
/* Coalescing: all routes of the host twin and of the kernels against the plain reference, bit for bit.  Small sizes
 * only on Oclgrind, which interprets, or with CHOIR_TEST_QUICK=1. */
#include "sparse/coalesce_case.h"
#include "sparse/defined.h"
#include "sparse/on_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Each combination is some programs to build, and what the operators do with each type is tested where they are
 * (kern-kernels): so a sum of every type, a third of the others, each operator with some type of each size. */
static bool picked(choir_dtype dtype, choir_op op)
{
	if (small)
		return op == CHOIR_OP_SQUARE_ADD || op == CHOIR_OP_MEAN;
	return op == CHOIR_OP_SUM || ((int)dtype + (int)op) % 3 == 0;
}

static void every_dtype_and_operator(void **state)
{
	struct coalesce_shape rows = {
		.name = "duplicates", .n = small ? 37 : 301, .width = 3, .range = 40, .n_src = 3
	};
	struct coalesce_shape scalars = {
		.name = "scalars", .n = small ? 41 : 333, .width = 1, .range = 90, .n_src = 2
	};

	(void)state;
	for (choir_dtype dtype = CHOIR_I8; dtype < N_DTYPES; dtype++)
		for (choir_op op = CHOIR_OP_SUM; op < N_OPS; op++)
			if (reference_defined(dtype, op) && picked(dtype, op)) {
				coalesce_case_check(device, &rows, dtype, op, (op & 1) != 0 ? 4 : 8, true);
				if (op == CHOIR_OP_SUM || op == CHOIR_OP_MEAN || op == CHOIR_OP_SQUARE_ADD)
					coalesce_case_check(device, &scalars, dtype, op, (op & 1) != 0 ? 8 : 4, true);
			}
}

static void every_width(void **state)
{
	static const size_t widths[] = { 1, 2, 3, 16, 64, 65 };

	(void)state;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct coalesce_shape shape = {
			.name = "width", .n = small ? 21 : 500, .width = widths[i], .range = 300, .n_src = 1
		};

		coalesce_case_check(device, &shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
		coalesce_case_check(device, &shape, CHOIR_BF16, CHOIR_OP_MEAN, 8, false);
		coalesce_case_check(device, &shape, CHOIR_F64, CHOIR_OP_SUM, 4, false);
	}
}

static void every_size_and_order(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 63, 64, 65, 257, 4097, 20011 };
	static const char *const orders[] = { "random", "sorted", "reversed", "all equal" };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int order = 0; order < 4; order++) {
			struct coalesce_shape shape = { .name = orders[order],
				                        .n = sizes[i],
				                        .width = 1,
				                        .range = sizes[i] * 3 + 1,
				                        .order = order,
				                        .n_src = 1 };

			if (small && shape.n > 300)
				continue;
			coalesce_case_check(device, &shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
			coalesce_case_check(device, &shape, CHOIR_F16, CHOIR_OP_SUM, 8, false);
		}
}

static void every_range(void **state)
{
	static const struct coalesce_shape shapes[] = {
		{ .name = "one index", .n = 50, .width = 2, .base = 7, .range = 1, .n_src = 2 },
		{ .name = "one word", .n = 50, .width = 1, .base = 3, .range = 64, .n_src = 1 },
		{ .name = "a million", .n = 20000, .width = 1, .range = 1000000, .n_src = 2 },
		{ .name = "many buckets", .n = 70001, .width = 1, .base = 11, .range = 4000000, .n_src = 1 },
		{ .name = "radix of 11 bits", .n = 70001, .width = 1, .range = INT32_MAX, .n_src = 1 },
		{ .name = "merged", .n = 4000, .width = 1, .base = 100, .range = 30001, .n_src = 5 },
		{ .name = "to the end", .n = 3000, .width = 2, .base = INT32_MAX - 2000, .range = 2001, .n_src = 4 },
		{ .name = "31 bits", .n = 300, .width = 1, .range = INT32_MAX, .n_src = 1 },
		{ .name = "far, narrow", .n = 300, .width = 2, .base = UINT64_C(1) << 40, .range = 1000, .n_src = 3 },
		{ .name = "far, 32 bits", .n = 300, .width = 1, .base = 5, .range = UINT64_C(1) << 32, .n_src = 2 },
		{ .name = "33 bits", .n = 300, .width = 1, .range = UINT64_C(1) << 33, .n_src = 2 },
		{ .name = "all of i64", .n = 300, .width = 3, .range = INT64_MAX, .n_src = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct coalesce_shape shape = shapes[i];

		if (short_loops && shape.n > 65535)
			continue;
		shape.n = small && shape.n > 50 ? 50 : shape.n;
		coalesce_case_check(device, &shape, CHOIR_F32, CHOIR_OP_SUM, 8, false);
		if (shape.base + shape.range - 1 <= INT32_MAX)
			coalesce_case_check(device, &shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_dtype_and_operator),
		cmocka_unit_test(every_width),
		cmocka_unit_test(every_size_and_order),
		cmocka_unit_test(every_range),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
