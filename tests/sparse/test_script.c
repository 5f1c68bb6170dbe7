/* SPDX-License-Identifier: MIT */
/* The whole script on N = 1, 2, 3, 5, 8 ranks without the engine: random cases against the plain reference, bit for
 * bit, however memory is reached and wherever pairs are coalesced.  CHOIR_TEST_CASES: random cases per kind of device;
 * a tenth of the usual on Oclgrind and if the test is to be quick. */
#include "exec/nt_plan.h"
#include "quick.h"
#include "sparse/case.h"
#include "sparse/defined.h"
#include "sparse/interprets.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct test_case random_case(uint64_t seed)
{
	static const int ranks[] = { 1, 2, 3, 5, 8 };
	static const uint64_t ranges[] = { 1, 3, 50, 400, 1000000, INT32_MAX };
	static const uint64_t bases[] = { 0, 0, 1000, UINT64_C(1) << 33, (UINT64_C(1) << 62) };
	static const uint64_t far_ranges[] = { 5, 400, INT32_MAX, UINT64_C(1) << 34, UINT64_C(1) << 61 };
	static const size_t widths[] = { 1, 1, 2, 3, 17 };
	static const char *const names[] = { "allgather", "split", NULL };
	uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	struct test_case c = { .seed = seed };

	for (int i = 0; i < 4; i++)
		(void)reference_next(&s);
	c.n = ranks[reference_next(&s) % 5];
	c.n_nodes = reference_next(&s) % 3 == 0 ? c.n : 1 + (int)(reference_next(&s) % 2) * (c.n > 2);
	c.ind_dtype = reference_next(&s) % 2 == 0 ? CHOIR_I32 : CHOIR_I64;
	do {
		c.val_dtype = (choir_dtype)(reference_next(&s) % N_DTYPES);
		c.op = (choir_op)(reference_next(&s) % N_OPS);
	} while (!reference_defined(c.val_dtype, c.op));
	c.width = widths[reference_next(&s) % 5];
	c.most_pairs = reference_next(&s) % 8 == 0 ? 3 : 150;
	c.range = ranges[reference_next(&s) % 6];
	if (c.ind_dtype == CHOIR_I64) {
		c.base = bases[reference_next(&s) % 5];
		c.range = far_ranges[reference_next(&s) % 5];
	}
	c.algorithm = names[reference_next(&s) % 3];
	c.way = (enum way)(reference_next(&s) % N_WAYS);
	c.memory = reference_next(&s) % 2 == 0 ? IN_MEM : IN_HOST;
	return c;
}

static uint64_t cases(uint64_t usual)
{
	const char *text = getenv("CHOIR_TEST_CASES");

	if (text != NULL)
		return strtoull(text, NULL, 10);
	return device_interprets(case_devices[PLAIN]) || quick_wanted() ? usual / 10 : usual;
}

static void random_cases_plain(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= cases(1500); seed++) {
		struct test_case c = random_case(seed);

		case_run(&c, case_devices[PLAIN]);
	}
}

/* Kernels are built per device, dtype and operator: a few of them keep the test short. */
static void random_cases_of(enum kind kind, uint64_t n)
{
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct test_case c = random_case(seed + 100000);

		if (kind >= KERNELS) {
			static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_BF16, CHOIR_I32, CHOIR_F64 };
			static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_MEAN, CHOIR_OP_SQUARE_ADD,
				                        CHOIR_OP_PREMUL_SUM };

			c.val_dtype = dtypes[seed % (kind == KERNELS ? 4 : 2)];
			c.op = ops[kind == KERNELS ? seed / 4 % 4 : 0];
			if (c.op == CHOIR_OP_PREMUL_SUM && c.val_dtype == CHOIR_I32)
				c.val_dtype = CHOIR_F32;
		}
		case_run(&c, case_devices[kind]);
	}
}

static void random_cases_mapped(void **state)
{
	(void)state;
	random_cases_of(MAPPED, cases(100));
}

static void random_cases_staged(void **state)
{
	(void)state;
	random_cases_of(STAGED, cases(100));
}

static void random_cases_kernels(void **state)
{
	(void)state;
	random_cases_of(KERNELS, cases(60));
}

static void random_cases_staged_kernels(void **state)
{
	(void)state;
	random_cases_of(STAGED_KERNELS, cases(60));
}

/* Both algorithms and the chosen one, larger, through several rounds of the slots. */
static void large_cases(void **state)
{
	static const char *const names[] = { "allgather", "split", NULL };

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct test_case c = { .seed = 77 + (uint64_t)i,
			               .n = i % 2 == 0 ? 2 : 5,
			               .n_nodes = i < 6 ? 1 : 2,
			               .ind_dtype = CHOIR_I32,
			               .val_dtype = CHOIR_F32,
			               .op = CHOIR_OP_SUM,
			               .width = i % 4 == 0 ? 64 : 1,
			               .most_pairs = 9000,
			               .range = 30000,
			               .algorithm = names[i % 3],
			               .way = RECEIVES };

		case_run(&c, case_devices[PLAIN]);
	}
}

/* Raw scalars on ranks that share memory: long and short lists, many buckets, few, and more of them than pairs. */
static void raw_cases(void **state)
{
	static const uint64_t ranges[] = { 70, 4096, 30000, 1000000, 5000000 };
	static const int ranks[] = { 2, 3, 8 };

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct test_case c = { .seed = 4000 + (uint64_t)i,
			               .n = ranks[i % 3],
			               .n_nodes = 1,
			               .ind_dtype = i % 2 == 0 ? CHOIR_I32 : CHOIR_I64,
			               .val_dtype = (choir_dtype)(i % 15) /* all but pairs */,
			               .op = (choir_op)(i / 15 % 6),
			               .width = 1,
			               .most_pairs = 6000,
			               .range = ranges[i % 5],
			               .way = (enum way)(i % N_WAYS),
			               .memory = i % 7 == 0 ? IN_MEM : IN_HOST };

		c.base = c.ind_dtype == CHOIR_I64 && i % 3 == 0 ? UINT64_C(1) << 40 : 0;
		case_run(&c, case_devices[PLAIN]);
	}
}

/* Offers of raw pairs that all ranks have to take back: ranks too far apart, or one that has no use for them. */
static void raw_cases_taken_back(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		struct test_case c = { .seed = 5000 + (uint64_t)i,
			               .n = 2 + i % 3,
			               .n_nodes = 1,
			               .ind_dtype = CHOIR_I64,
			               .val_dtype = CHOIR_F32,
			               .op = CHOIR_OP_SUM,
			               .width = 1,
			               .most_pairs = 5000,
			               .range = 20000,
			               .way = (enum way)(i % N_WAYS),
			               .algorithm = i % 2 == 0 ? NULL : "split",
			               .mixed = i >= 6,
			               .apart = i < 6 ? UINT64_C(1) << 36 : 0 };

		case_run(&c, case_devices[PLAIN]);
	}
}

/* In place, staged, each rank as it likes, and as the first learns: no bit depends on it. */
static void blocks_made_either_way(void **state)
{
	static const size_t widths[] = { 200, 1, 3, 1 }, pairs[] = { 1200, 6000, 900, 30000 };
	_Atomic uint64_t in_place = 0, staged = ~UINT64_C(0), learnt = 0;
	struct nt_entry entries[NT_ENTRIES] = { 0 };
	const struct nt_choice ways[][3] = {
		{ { &in_place, NULL, false }, { &in_place, NULL, false }, { &in_place, NULL, false } },
		{ { &staged, NULL, false }, { &staged, NULL, false }, { &staged, NULL, false } },
		{ { &staged, NULL, false }, { &in_place, NULL, false }, { NULL, NULL, false } },
		{ { &learnt, entries, false }, { &learnt, NULL, false }, { &learnt, NULL, false } },
	};

	(void)state;
	for (int i = 0; i < 48; i++) {
		struct test_case c = { .seed = 7000 + (uint64_t)(i / 4),
			               .n = 3,
			               .n_nodes = 1,
			               .ind_dtype = CHOIR_I32,
			               .val_dtype = CHOIR_F32,
			               .op = CHOIR_OP_SUM,
			               .width = widths[i / 12],
			               .most_pairs = pairs[i / 12],
			               .range = 20000,
			               .way = RECEIVES,
			               .nt = ways[i % 4] };

		case_run(&c, case_devices[STAGED]); /* host merges on GPUs too */
	}
	assert_true(in_place == 0 && staged == ~UINT64_C(0)); /* those who follow change nothing */
	/* Calls of scalars, of short rows and of long ones were timed. */
	assert_true(entries[NT_PLANS].looked > 0 && entries[NT_PLANS + 2].looked > 0 &&
	            entries[NT_PLANS + 3].looked > 0);
}

/* The first rank learns for all, also where it brings nothing and writes nothing itself. */
static void first_learns_with_nothing(void **state)
{
	static const size_t widths[] = { 64, 1, 3, 1 }, pairs[] = { 240, 600, 900, 3000 };
	_Atomic uint64_t learnt = 0;
	struct nt_entry entries[NT_ENTRIES];
	const struct nt_choice ways[] = { { &learnt, entries, false },
		                          { &learnt, NULL, false },
		                          { &learnt, NULL, false } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct nt_entry *entry = &entries[NT_PLANS + (widths[i] > 1 ? 2 : 0)];
		struct test_case c = { .seed = 7100 + (uint64_t)i,
			               .n = 3,
			               .n_nodes = 1,
			               .ind_dtype = CHOIR_I32,
			               .val_dtype = CHOIR_F32,
			               .op = CHOIR_OP_SUM,
			               .width = widths[i],
			               .most_pairs = pairs[i],
			               .range = 20000,
			               .way = RECEIVES,
			               .nt = ways,
			               .hot = 1,
			               .first_has_none = true };

		memset(entries, 0, sizeof entries);
		for (int calls = 0; calls < 3; calls++)
			case_run(&c, case_devices[STAGED]);
		assert_int_equal(entry->looked, 3);
		assert_true(entry->least[0] > 0.0f);
	}
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* One rank's list is long enough to stay raw, the others coalesce theirs, which then nobody reads: those blocks serve
 * the next call all the same. */
static void unread_blocks_serve_again(void **state)
{
	struct test_case c = { .seed = 6000,
		               .n = 3,
		               .n_nodes = 1,
		               .ind_dtype = CHOIR_I32,
		               .val_dtype = CHOIR_F32,
		               .op = CHOIR_OP_SUM,
		               .width = 1,
		               .most_pairs = 1000,
		               .range = 20000,
		               .way = RECEIVES,
		               .hot = 1 };
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		if (i == 8)
			before = open_files();
		case_run(&c, case_devices[PLAIN]);
	}
	assert_int_equal(open_files(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_cases_plain),
		cmocka_unit_test(random_cases_mapped),
		cmocka_unit_test(random_cases_staged),
		cmocka_unit_test(random_cases_kernels),
		cmocka_unit_test(random_cases_staged_kernels),
		cmocka_unit_test(large_cases),
		cmocka_unit_test(raw_cases),
		cmocka_unit_test(raw_cases_taken_back),
		cmocka_unit_test(blocks_made_either_way),
		cmocka_unit_test(first_learns_with_nothing),
		cmocka_unit_test(unread_blocks_serve_again),
	};

	return cmocka_run_group_tests(tests, case_open, case_close);
}
