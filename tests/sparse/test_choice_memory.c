/* SPDX-License-Identifier: MIT */
/* What is remembered of a call for the choice of the next. */
#include "algo/choice_memory.h"
#include "sparse/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void the_memory_finds_similar_calls(void **state)
{
	static const struct choice_memory_call call = { 7, 1000, 50000 };
	struct choice_memory_call other;
	struct choice_memory memory = { 0 };

	(void)state;
	assert_int_equal(choice_memory_find(&memory, &call).taken, -1);
	choice_memory_note(&memory, &call, 3, 1.5);
	other = (struct choice_memory_call){ 7, 1999, 25001 };
	assert_int_equal(choice_memory_find(&memory, &other).taken, 3);
	assert_true(choice_memory_find(&memory, &other).growth == 1.5);
	choice_memory_note(&memory, &other, -1, 1.75); /* a forced call: what was taken stays */
	assert_int_equal(choice_memory_find(&memory, &other).taken, 3);
	assert_true(choice_memory_find(&memory, &other).growth == 1.75);
	other = (struct choice_memory_call){ 7, 5000, 25001 };
	assert_int_equal(choice_memory_find(&memory, &other).taken, -1);
	other = (struct choice_memory_call){ 8, 1999, 25001 };
	assert_int_equal(choice_memory_find(&memory, &other).taken, -1);
	for (uint64_t kind = 100; kind < 100 + CHOICE_MEMORY_ROWS; kind++)
		choice_memory_note(&memory, &(struct choice_memory_call){ kind, 1, 1 }, 1, 1);
	other = (struct choice_memory_call){ 7, 1999, 25001 };
	assert_int_equal(choice_memory_find(&memory, &other).taken, -1); /* forgotten for newer ones */
	assert_int_equal(choice_memory_find(&memory, &(struct choice_memory_call){ 100, 1, 1 }).taken, 1);
}

/* One call after another on the same comms. */
struct series {
	struct test_case c;
	struct choice_memory memories[MOST_RANKS];
	struct link_costs costs[MOST_RANKS];
};

static void series_start(struct series *s, int n, int n_nodes)
{
	memset(s, 0, sizeof *s);
	s->c = (struct test_case){ .seed = 42,
		                   .n = n,
		                   .n_nodes = n_nodes,
		                   .ind_dtype = CHOIR_I32,
		                   .val_dtype = CHOIR_F32,
		                   .op = CHOIR_OP_SUM,
		                   .width = 1,
		                   .most_pairs = 400,
		                   .range = 500,
		                   .way = RECEIVES,
		                   .memories = s->memories };
}

/* What is remembered is what came out, and the same on all ranks that had pairs; the bits are right whatever it says
 * (case_run). */
static void calls_are_remembered(void **state)
{
	struct series s;

	(void)state;
	series_start(&s, 3, 3);
	case_run(&s.c, case_devices[PLAIN]);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(s.memories[r].age, 1);
		assert_true(s.memories[r].rows[0].growth == s.memories[0].rows[0].growth &&
		            s.memories[r].rows[0].growth >= 1);
		assert_int_equal(s.memories[r].rows[0].taken, -1); /* it was a guess */
	}
	case_run(&s.c, case_devices[PLAIN]);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(s.memories[r].rows[0].taken, s.memories[0].rows[0].taken);
		assert_true(s.memories[r].rows[0].taken >= 0);
	}
}

/* Ranks whose memories contradict each other still take the same turns (world_run) and give the right bits. */
static void memories_may_differ(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct series s;

		series_start(&s, 2 + (int)(seed % 4), seed % 3 == 0 ? 1 : 2 + (int)(seed % 4));
		s.c.seed = seed;
		s.c.most_pairs = 500 * (1 + seed % 20); /* about where allgather and split cross */
		s.c.range = 2 * s.c.most_pairs;
		s.c.hot = seed % 5 == 0 ? -1 : 0;
		case_run(&s.c, case_devices[PLAIN]);
		for (int r = 0; r < s.c.n; r++)
			for (int i = 0; i < CHOICE_MEMORY_ROWS; i++) {
				s.memories[r].rows[i].taken = (int)((seed + (uint64_t)r * 3) % 8) - 1;
				s.memories[r].rows[i].growth = (double)((seed + (uint64_t)r) % 9);
			}
		case_run(&s.c, case_devices[PLAIN]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_memory_finds_similar_calls),
		cmocka_unit_test(calls_are_remembered),
		cmocka_unit_test(memories_may_differ),
	};

	return cmocka_run_group_tests(tests, case_open, case_close);
}
