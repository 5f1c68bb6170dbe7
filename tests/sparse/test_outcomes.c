/* SPDX-License-Identifier: MIT */
/* What goes wrong once a script runs: which ranks fail, with what sentence, and whether the comm goes on. */
#include "sparse/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A small world of three ranks whose calls a test may spoil. */
struct small_world {
	struct test_case c;
	struct side sides[3];
	struct world_rank ranks[3];
};

static void small_start(struct small_world *s, enum way way)
{
	uint64_t seed = 5;

	memset(s, 0, sizeof *s);
	s->c = (struct test_case){ .n = 3,
		                   .n_nodes = 1,
		                   .ind_dtype = CHOIR_I32,
		                   .val_dtype = CHOIR_F32,
		                   .op = CHOIR_OP_SUM,
		                   .width = 2,
		                   .most_pairs = 40,
		                   .range = 100,
		                   .way = way };
	for (int r = 0; r < 3; r++) {
		do
			case_fill(&s->sides[r], &s->c, r, &seed, case_devices[PLAIN]);
		while (s->sides[r].in.count < 10);
		s->ranks[r].call = case_call(&s->sides[r], &s->c, 200);
	}
}

static void small_run(struct small_world *s)
{
	struct world world;

	world_init(&world, 3, 1, case_devices[PLAIN]);
	world_run(&world, s->ranks);
	world_fini(&world);
	for (int r = 0; r < 3; r++)
		case_free(&s->sides[r]);
}

static void expect_all(const struct small_world *s, choir_status status, bool failure_is_local, const char *a,
                       const char *b)
{
	for (int r = 0; r < 3; r++) {
		assert_int_equal(s->ranks[r].status, status);
		assert_int_equal(s->ranks[r].failure_is_local, failure_is_local);
		if (strstr(s->ranks[r].error, a) == NULL || strstr(s->ranks[r].error, b) == NULL)
			fail_msg("\"%s\" names neither %s nor %s", s->ranks[r].error, a, b);
	}
}

static void widths_differ(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, RECEIVES);
	s.ranks[1].call.send_val_count /= 2;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 sends rows of width 2", "rank 1 rows of width 1");
}

static void calls_differ(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, RECEIVES);
	s.ranks[2].call.op = CHOIR_OP_MAX;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with operator sum", "rank 2 with max");
	small_start(&s, RECEIVES);
	s.ranks[1].call.val_dtype = CHOIR_I32;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with value dtype f32", "rank 1 with i32");
	small_start(&s, RECEIVES);
	s.ranks[1].call.attr.coalesce_mode = CHOIR_COALESCE_KEEP_PRECISION;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with coalesce mode 0", "rank 1 with 2");
	small_start(&s, RECEIVES);
	s.ranks[2].call.attr.wire = CHOIR_SPARSE_WIRE_BF16;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with wire type 0", "rank 2 with 2");
	small_start(&s, RECEIVES);
	s.ranks[1].call.algorithm = "split";
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with algorithm none", "rank 1 with split");
}

static void a_negative_index_ends_all(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, RECEIVES);
	((int32_t *)s.sides[2].stored)[7] = -3;
	small_run(&s);
	expect_all(&s, CHOIR_ARGUMENT, true, "rank 2", "negative index -3 at position 7");
}

/* What has a row for every index refuses a range that no memory holds, alike on all ranks; the comm goes on. */
static void a_range_too_wide(void **state)
{
	static const char *const names[] = { "dense", "split_dense", "split_bitmap" };
	struct small_world s;

	(void)state;
	for (int i = 0; i < 3; i++) {
		small_start(&s, RECEIVES);
		((int32_t *)s.sides[1].stored)[0] = INT32_MAX;
		for (int r = 0; r < 3; r++)
			s.ranks[r].call.algorithm = names[i];
		small_run(&s);
		expect_all(&s, CHOIR_UNSUPPORTED, true, names[i], "to 2147483647");
	}
}

static void failing_callbacks_fail_one(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, COMPLETES);
	s.sides[1].answer = CHOIR_ABORTED;
	small_run(&s);
	assert_int_equal(s.ranks[0].status, CHOIR_SUCCESS);
	assert_int_equal(s.ranks[1].status, CHOIR_ABORTED);
	assert_true(s.ranks[1].failure_is_local);
	assert_non_null(strstr(s.ranks[1].error, "completion_fn returned ABORTED"));
	small_start(&s, ALLOCATES);
	s.sides[0].gives_nothing = true;
	small_run(&s);
	assert_int_equal(s.ranks[0].status, CHOIR_ARGUMENT);
	assert_true(s.ranks[0].failure_is_local);
	assert_non_null(strstr(s.ranks[0].error, "alloc_fn gave no memory for the indices"));
	assert_int_equal(s.ranks[2].status, CHOIR_SUCCESS);
}

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* What a call takes for its ranks, before it knows of any pairs. */
static size_t bytes_of_call(int n)
{
	struct sparse_call call = {
		.ind_dtype = CHOIR_I32, .val_dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .attr = CHOIR_SPARSE_ATTR_INIT
	};
	struct script_env env = { .me = 0, .device = case_devices[PLAIN] };
	const struct script_ops *ops;
	struct world world;
	size_t before, bytes;
	void *state;

	world_init(&world, n, 1, case_devices[PLAIN]);
	env.layout = &world.layout;
	before = allocated();
	assert_int_equal(sparse_create(&env, &call, &ops, &state), CHOIR_SUCCESS);
	bytes = allocated() - before;
	ops->destroy(state);
	world_fini(&world);
	return bytes;
}

static void memory_grows_with_the_ranks(void **state)
{
	(void)state;
	assert_true(bytes_of_call(4000) < 2 * bytes_of_call(2000) + 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths_differ),
		cmocka_unit_test(calls_differ),
		cmocka_unit_test(a_negative_index_ends_all),
		cmocka_unit_test(a_range_too_wide),
		cmocka_unit_test(failing_callbacks_fail_one),
		cmocka_unit_test(memory_grows_with_the_ranks),
	};

	return cmocka_run_group_tests(tests, case_open, case_close);
}
