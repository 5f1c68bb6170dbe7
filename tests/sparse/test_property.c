/* SPDX-License-Identifier: MIT */
/* The property that every call has, whatever its dtypes, mode, algorithm, lists, layout, class of device and kinds of
 * memory: each rank's result is that of the plain reference, bit for bit.
 * 10 000 random cases, of which each is a seed that a failure prints: the same every time, or from CHOIR_TEST_SEED on.
 * CHOIR_TEST_CASES: another number; a twentieth if the test is to be quick. */
#include "base/dtype.h"
#include "kern/reduce.h"
#include "quick.h"
#include "sparse/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

_Static_assert(PLAIN == 0 && MAPPED == 1 && STAGED == 2, "the classes of every_case");

#define N(list) (sizeof(list) / sizeof *(list))

static const char *const names[] = { NULL,          "allgather",          "split", "split_bitmap",
	                             "split_dense", "recursive_doubling", "mask",  "dense" };

static void pick_types(struct test_case *c, uint64_t *s)
{
	static const choir_dtype narrow[] = { CHOIR_F16, CHOIR_BF16, CHOIR_F8E4M3, CHOIR_F8E5M2 };

	c->mode = (choir_coalesce)(reference_next(s) % 3);
	if (c->mode == CHOIR_COALESCE_DISABLE)
		c->algorithm = reference_next(s) % 2 == 0 ? NULL : "allgather";
	do {
		c->val_dtype = (choir_dtype)(reference_next(s) % N_DTYPES);
		if (c->mode == CHOIR_COALESCE_KEEP_PRECISION && reference_next(s) % 2 == 0)
			c->val_dtype = narrow[reference_next(s) % N(narrow)];
		c->op = (choir_op)(reference_next(s) % N_OPS);
	} while (c->op == CHOIR_OP_LOCAL || dtype_kind(c->val_dtype) == KIND_PAIR ||
	         reduce_supported(c->val_dtype, c->op) != CHOIR_SUCCESS);
	if (reference_next(s) % 8 == 0) {
		static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_MEAN, CHOIR_OP_MAX, CHOIR_OP_SQUARE_ADD,
			                        CHOIR_OP_PREMUL_SUM };

		c->val_dtype = CHOIR_F32;
		c->op = ops[reference_next(s) % N(ops)];
		c->wire = (choir_sparse_wire)(1 + reference_next(s) % 2);
	}
}

/* Few indices, so that lists meet; many; far up; few in a wide range.  What has a row for each index gets few. */
static void pick_indices(struct test_case *c, uint64_t *s)
{
	static const uint64_t ranges[] = { 1, 3, 50, 300, 5000 }, far[] = { 1000000, INT32_MAX },
			      farther[] = { UINT64_C(1) << 34, UINT64_C(1) << 61 };
	static const uint64_t bases[] = { 0, 1000, UINT64_C(1) << 33, UINT64_C(1) << 62 };
	bool spans =
	    c->algorithm != NULL && (strcmp(c->algorithm, "dense") == 0 || strncmp(c->algorithm, "split_", 6) == 0);

	c->range = ranges[reference_next(s) % N(ranges)];
	if (!spans && reference_next(s) % 4 == 0)
		c->range = far[reference_next(s) % N(far)];
	if (c->ind_dtype == CHOIR_I32)
		return;
	if (!spans && reference_next(s) % 8 == 0)
		c->range = farther[reference_next(s) % N(farther)];
	c->base = bases[reference_next(s) % N(bases)];
}

static struct test_case property_case(uint64_t seed)
{
	static const size_t widths[] = { 1, 1, 2, 3, 9 };
	uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	struct test_case c = { .seed = seed };

	for (int i = 0; i < 4; i++)
		(void)reference_next(&s);
	c.n = 1 + (int)(reference_next(&s) % 8);
	c.n_nodes = reference_next(&s) % 3 == 0 ? c.n : 1 + (int)(reference_next(&s) % 2) * (c.n > 2);
	c.ind_dtype = reference_next(&s) % 2 == 0 ? CHOIR_I32 : CHOIR_I64;
	c.algorithm = names[reference_next(&s) % N(names)];
	c.width = widths[reference_next(&s) % N(widths)];
	c.most_pairs = reference_next(&s) % 4 == 0 ? 3 : 40;
	pick_types(&c, &s);
	pick_indices(&c, &s);
	if (reference_next(&s) % 4 == 0)
		c.hot = (int)(reference_next(&s) % (uint64_t)c.n) * (reference_next(&s) % 2 == 0 ? 1 : -1);
	c.specials = reference_next(&s) % 4 == 0;
	c.way = (enum way)(reference_next(&s) % N_WAYS);
	c.any_memory = reference_next(&s) % 8 == 0;
	return c;
}

static uint64_t cases(void)
{
	const char *text = getenv("CHOIR_TEST_CASES");

	if (text != NULL)
		return strtoull(text, NULL, 10);
	return quick_wanted() ? 500 : 10000;
}

static void every_case(void **state)
{
	const char *text = getenv("CHOIR_TEST_SEED");
	uint64_t first = text != NULL ? strtoull(text, NULL, 10) : 1, n = cases();

	(void)state;
	printf("seeds %llu to %llu\n", (unsigned long long)first, (unsigned long long)(first + n - 1));
	for (uint64_t seed = first; seed < first + n; seed++) {
		struct test_case c = property_case(seed);

		case_run(&c, case_devices[seed % 3]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_case) };

	return cmocka_run_group_tests(tests, case_open, case_close);
}
