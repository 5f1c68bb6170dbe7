/* SPDX-License-Identifier: MIT */
/* How long chunks are. */
#include "algo/fit.h"
#include "plan/cases.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Chunks through the slots stay in a cache, but where commands cross a bus: there their number is the root of what the
 * bus carries beside the commands of one chunk. */
static void chunks_fit_the_bus(void **state)
{
	static const struct {
		uint64_t command_bytes, bytes, commands, chunks; /* 0 = of 256 KB */
	} rows[] = {
		{ 0, 1 << 30, 1, 0 },       { 0, 1 << 30, 8, 0 },        { 40000, 40000, 1, 1 },
		{ 40000, 100000, 1, 1 },    { 40000, 4 * 40000, 1, 2 },  { 40000, 16 << 20, 1, 20 },
		{ 40000, 16 << 20, 4, 10 }, { 160000, 16 << 20, 1, 10 }, { 1 << 20, 16 << 20, 1, 4 },
		{ 1 << 20, 1 << 20, 1, 1 }, { 4096, 64 << 20, 1, 128 },  { 40000, 0, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct algo_in in = { .command_bytes = rows[i].command_bytes };
		uint64_t n = rows[i].chunks, got = fit_chunk_bytes(&in, rows[i].bytes, rows[i].commands);

		n = n == 0 ? 256 << 10 : (rows[i].bytes + n - 1) / n;
		assert_int_equal(got, n < 32 << 10 ? 32 << 10 : n);
		in.chunk_bytes = 70000;
		assert_int_equal(fit_chunk_bytes(&in, rows[i].bytes, rows[i].commands), 70000);
	}
}

/* Of two ranks chunks that are only copied are short, a quarter of a core's cache, unless the call is long or says how
 * long chunks are. */
static void two_ranks_copy_short_chunks(void **state)
{
	static const struct {
		int n;
		uint64_t bytes, cache, command_bytes, chunk_bytes, want;
	} rows[] = {
		{ 2, 8 << 20, 0, 0, 0, 64 << 10 },
		{ 2, 128 << 10, 0, 0, 0, 64 << 10 },
		{ 2, 8 << 20, 256 << 10, 0, 0, 64 << 10 },
		{ 2, 8 << 20, 1 << 20, 0, 0, 256 << 10 },
		{ 2, 8 << 20, 512 << 10, 0, 0, 128 << 10 },
		{ 2, (8 << 20) + 64, 1 << 20, 0, 0, 256 << 10 },
		{ 3, 8 << 20, 1 << 20, 0, 0, 256 << 10 },
		{ 2, 8 << 20, 1 << 20, 0, 70000, 70000 },
		{ 2, 16 << 20, 1 << 20, 160000, 0, 1677722 },
		{ 2, 8 << 20, 4 << 20, 0, 0, 256 << 10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct layout layout = layout_make(rows[i].n, (int[]){ 0, 0, 0 });
		struct algo_in in = { .layout = &layout,
			              .core_cache_bytes = rows[i].cache,
			              .command_bytes = rows[i].command_bytes,
			              .chunk_bytes = rows[i].chunk_bytes };

		assert_int_equal(fit_moved_chunk_bytes(&in, rows[i].bytes), rows[i].want);
		layout_free(&layout);
	}
}

/* The last write of a reduce_scatter overlaps with nothing, so it is short where memory is far. */
static void far_scatter_ends_short(void **state)
{
	struct layout layout = layout_make(2, (int[]){ 0, 0 });
	struct algo_in in = { .layout = &layout,
		              .collective = COLLECTIVE_REDUCE_SCATTER,
		              .elem_bytes = 4,
		              .bytes = 2 << 20,
		              .command_bytes = 40000,
		              .slot_bytes = 8 << 20 };
	uint64_t longest = 0, last = 0, sum = 0;
	struct plan plan;

	(void)state;
	plan_init(&plan, "slots", 4);
	assert_int_equal(algo_find(COLLECTIVE_REDUCE_SCATTER, "slots")->build(&in, &plan), CHOIR_SUCCESS);
	for (uint32_t i = 0; i < plan.n_steps; i++)
		if (plan.steps[i].kind == PLAN_REDUCE) {
			last = plan.steps[i].len;
			longest = last > longest ? last : longest;
			sum += last;
		}
	assert_int_equal(sum, in.bytes);
	assert_in_range(2 * last, longest - 4096, longest + 4096);
	plan_fini(&plan);
	layout_free(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(chunks_fit_the_bus),
		                            cmocka_unit_test(two_ranks_copy_short_chunks),
		                            cmocka_unit_test(far_scatter_ends_short) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
