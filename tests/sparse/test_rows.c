/* SPDX-License-Identifier: MIT */
/* The row loops of every CPU level have the same bits, for every (dtype, op), odd widths, first and later rows. */
#include "sparse/defined.h"
#include "sparse/reference.h"
#include "sparse/rows_loops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, PLACES = 7, MOST_WIDTH = 65 };

static void fold(const struct rows_loops *loop, struct rows rows, const struct rows_batch *batch, void *acc, void *out)
{
	memset(acc, 0, PLACES * MOST_WIDTH * 8);
	memset(out, 0, PLACES * MOST_WIDTH * 8);
	rows.acc = acc;
	if (rows.width == 1)
		loop->scalars(&rows, batch);
	else
		loop->rows(&rows, batch);
	loop->finish(&rows, out, PLACES * rows.width);
}

static void one_case(choir_dtype dtype, choir_op op, size_t width)
{
	static unsigned char from[ROWS * MOST_WIDTH * 8];
	static double acc[PLACES * MOST_WIDTH], base[PLACES * MOST_WIDTH], other[PLACES * MOST_WIDTH];
	uint64_t place[ROWS], seed = (uint64_t)dtype * 100 + (uint64_t)op * 10 + width;
	uint8_t first[ROWS];
	struct rows rows = { .dtype = dtype, .op = op, .raw = true, .final = true, .n_ranks = 3, .width = width };
	struct rows_batch batch = { .place = place, .first = first, .from = from, .n = ROWS };
	size_t at = 0;

	reference_random(&seed, dtype, true, from, ROWS * width);
	for (size_t i = 0; i < ROWS; i++) {
		place[i] = i < PLACES ? i : reference_next(&seed) % PLACES;
		first[i] = i < PLACES;
	}
	fold(&rows_base_loops[dtype][op], rows, &batch, acc, base);
#ifdef __x86_64__
	if (!__builtin_cpu_supports("avx2"))
		return;
	fold(&rows_avx2_loops[dtype][op], rows, &batch, acc, other);
	if (!reference_same(dtype, base, other, PLACES * width, &at))
		fail_msg("%s %s width %zu: element %zu differs", choir_dtype_name(dtype), choir_op_name(op), width, at);
#endif
}

static void same_bits(void **state)
{
	static const size_t widths[] = { 1, 2, 3, 17, 64, 65 };

	(void)state;
	for (int dtype = 0; dtype < N_DTYPES; dtype++)
		for (int op = 0; op < N_OPS; op++)
			for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
				if (reference_defined((choir_dtype)dtype, (choir_op)op))
					one_case((choir_dtype)dtype, (choir_op)op, widths[w]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
