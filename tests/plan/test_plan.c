/* SPDX-License-Identifier: MIT */
/* The plan itself: its text, its growth, and what happens when memory ends (calloc and realloc are wrapped by the
 * linker). */
#include "plan/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static long allocations_left = -1; /* -1: no limit */

static bool allowed(void)
{
	if (allocations_left == 0)
		return false;
	if (allocations_left > 0)
		allocations_left--;
	return true;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return allowed() ? __real_calloc(n, bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return allowed() ? __real_realloc(old, bytes) : NULL;
}

static char *text_of(const struct plan *plan, void (*dump)(const struct plan *, FILE *))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	dump(plan, out);
	fclose(out);
	return text;
}

static void builds_oneshot(struct world *world)
{
	struct check_case c = {
		.n = 2, .elem_bytes = 4, .bytes = 400, .slot_bytes = 4096, .message_bytes = 256, .recv_staged = true
	};

	assert_true(checker_build(algo_find(COLLECTIVE_ALLREDUCE, "oneshot"), &c, world));
}

static void dumps_text(void **state)
{
	struct world world;
	char *text;

	(void)state;
	builds_oneshot(&world);
	text = text_of(&world.plans[1], plan_dump);
	assert_string_equal(text,
	                    "plan oneshot: 5 steps, scratch 448 B, slot 4096 B, phases 1\n"
	                    "   0 copy slot(1)+0 <- send+0 400 B  # put\n"
	                    "   1 publish phase 1 after 0  # input there\n"
	                    "   2 await all phase 1  # all there\n"
	                    "   3 reduce scratch+0 <- slot(0)+0, send+0 400 B raw:all final after 2  # reduce all\n"
	                    "   4 copy recv+0 <- scratch+0 400 B after 3  # stage out\n");
	free(text);
	world_free(&world);
}

static void dumps_messages(void **state)
{
	struct check_case c = { .n = 2, .elem_bytes = 4, .bytes = 4, .slot_bytes = 4096, .message_bytes = 256 };
	struct world world;
	char *text;

	(void)state;
	assert_true(checker_build(algo_find(COLLECTIVE_ALLREDUCE, "recursive_doubling"), &c, &world));
	text = text_of(&world.plans[0], plan_dump);
	assert_string_equal(text, "plan recursive_doubling: 3 steps, scratch 64 B, slot 0 B, phases 0\n"
	                          "   0 send send+0 4 B to 1 tag 1  # rd: swap\n"
	                          "   1 recv scratch+0 4 B from 1 tag 1  # rd: swap\n"
	                          "   2 reduce recv+0 <- send+0, scratch+0 4 B raw:all final after 0 1  # rd: add\n");
	free(text);
	world_free(&world);
}

static void dumps_dot(void **state)
{
	struct world world;
	char *text;

	(void)state;
	builds_oneshot(&world);
	text = text_of(&world.plans[0], plan_dump_dot);
	assert_non_null(strstr(text, "digraph \"oneshot\" {"));
	assert_non_null(strstr(text, "s3 [fillcolor=lightsalmon label=\"3 reduce all\\nreduce scratch+0 <- send+0, "
	                             "slot(1)+0 400 B raw:all final\"];"));
	assert_non_null(strstr(text, "\ts2 -> s3;\n"));
	assert_non_null(strstr(text, "}\n"));
	free(text);
	world_free(&world);
	assert_string_equal(plan_kind_name(PLAN_AWAIT), "await");
	assert_string_equal(plan_kind_name((enum plan_kind)99), "unknown");
}

/* Many deps, many sources, doubles and NO_STEP skipped, flags chained. */
static void gathers_deps_and_sources(void **state)
{
	struct plan plan;
	plan_id last = PLAN_NO_STEP;

	(void)state;
	plan_init(&plan, "test", 4);
	for (uint64_t i = 0; i < 5000; i++)
		last = plan_copy(&plan, plan_at(PLAN_RECV, i * 4), plan_at(PLAN_SEND, i * 4), 4, &last, 1, "one");
	assert_int_equal(last, 4999);
	for (uint32_t i = 0; i < 3000; i++) {
		plan_need(&plan, i);
		plan_source(&plan, plan_slot(0, i * 4));
	}
	last = plan_reduce(&plan, plan_at(PLAN_SCRATCH, 0), NULL, 0, PLAN_RAW_ALL, true, 4,
	                   (plan_id[]){ PLAN_NO_STEP, 4999, 4999 }, 3, "many");
	assert_int_equal(plan.steps[last].n_deps, 3001);
	assert_int_equal(plan.steps[last].n_src, 3000);
	assert_int_equal(plan.refs[plan.steps[last].src_first + 2999].off, 2999 * 4);
	assert_int_equal(plan.steps[0].n_deps, 0);
	plan_publish(&plan, 1, &last, 1, "first");
	last = plan_publish(&plan, 2, NULL, 0, "second");
	assert_int_equal(plan.deps[plan.steps[last].dep_first], last - 1);
	assert_int_equal(plan.last_phase, 2);
	assert_int_equal(plan_finish(&plan), CHOIR_SUCCESS);
	assert_int_equal(plan.succ_first[1] - plan.succ_first[0], 2); /* step 1 and the reduce */
	assert_int_equal(plan.succ_first[plan.n_steps], 4999 + 3001 + 2);
	plan_fini(&plan);
	plan_fini(&plan);
}

static void scratch_is_aligned_and_bounded(void **state)
{
	struct plan plan;

	(void)state;
	plan_init(&plan, "test", 1);
	assert_int_equal(plan_scratch(&plan, 1), 0);
	assert_int_equal(plan_scratch(&plan, 64), 64);
	assert_int_equal(plan_scratch(&plan, 0), 128);
	assert_int_equal(plan.building, CHOIR_SUCCESS);
	plan_scratch(&plan, UINT64_MAX - 100);
	assert_int_equal(plan_finish(&plan), CHOIR_NO_MEMORY);
	plan_fini(&plan);
}

/* The k-th allocation fails, for every k: a status, a sentence, nothing leaked. */
/* A phase or a tag that has no room in a flag or a header refuses the plan. */
static void refuses_numbers_that_do_not_fit(void **state)
{
	struct plan_ref at = plan_at(PLAN_SCRATCH, 0);

	(void)state;
	for (int i = 0; i < 8; i++) {
		bool fits = i % 2 == 0;
		struct plan plan;

		plan_init(&plan, "test", 4);
		switch (i / 2) {
		case 0:
			plan_publish(&plan, PLAN_LAST_PHASE + !fits, NULL, 0, "phase");
			break;
		case 1:
			plan_await(&plan, PLAN_ALL, PLAN_LAST_PHASE + !fits, NULL, 0, "phase");
			break;
		case 2:
			plan_send(&plan, 1, PLAN_LAST_TAG + !fits, at, 0, NULL, 0, "tag");
			break;
		case 3:
			plan_recv(&plan, 1, PLAN_LAST_TAG + !fits, at, 0, NULL, 0, "tag");
			break;
		}
		assert_int_equal(plan_finish(&plan), fits ? CHOIR_SUCCESS : CHOIR_UNSUPPORTED);
		plan_fini(&plan);
	}
}

static void survives_the_end_of_memory(void **state)
{
	struct layout layout = layout_make(5, (int[]){ 0, 0, 1, 0, 1 });
	uint64_t blocks[25];

	(void)state;
	case_blocks(2, 25, 1024, blocks);
	for (size_t i = 0; i < n_algorithms; i++) {
		struct algo_in in = { .layout = &layout,
			              .me = 1,
			              .collective = algorithms[i].collective,
			              .elem_bytes = 1,
			              .bytes = 20000,
			              .block_bytes = blocks,
			              .root = 1,
			              .slot_bytes = 4096,
			              .message_bytes = 256 };
		choir_status st = CHOIR_NO_MEMORY;

		if (algorithms[i].unfit(&in))
			continue;
		for (long left = 0; st != CHOIR_SUCCESS; left++) {
			struct plan plan;

			plan_init(&plan, algorithms[i].name, 1);
			allocations_left = left;
			st = algorithms[i].build(&in, &plan);
			allocations_left = -1;
			assert_true(st == CHOIR_SUCCESS ||
			            (st == CHOIR_NO_MEMORY && strstr(choir_last_error(), "no memory for")));
			assert_true(left < 100);
			plan_fini(&plan);
		}
	}
	layout_free(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dumps_text),
		cmocka_unit_test(dumps_messages),
		cmocka_unit_test(dumps_dot),
		cmocka_unit_test(gathers_deps_and_sources),
		cmocka_unit_test(scratch_is_aligned_and_bounded),
		cmocka_unit_test(refuses_numbers_that_do_not_fit),
		cmocka_unit_test(survives_the_end_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
