/* SPDX-License-Identifier: MIT */
/* choir_allreduce_multi: lists of mixed types in host memory and cl_mems, to the bit, with everything around the
 * tensors unchanged.  Ranks that are threads reach each other's host memory, so most lists go the direct way here; ring
 * 4 has symmetric memory, and lists out of reach. */
#include "base/dtype.h"
#include "quick.h"
#include "world/gate.h"
#include "world/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void on_layouts(const int *sizes, size_t n_sizes, world_fn fn)
{
	for (size_t i = 0; i < n_sizes; i++)
		for (int per_node = 0; per_node < (sizes[i] < 3 ? 2 : 4); per_node++)
			line_up_run(sizes[i], per_node, 60000, fn, NULL);
}

/* The more ranks, the longer it takes to make their values. */
static size_t high_of(const struct world *world, size_t n)
{
	return n > 60 ? 40 : world->n > 3 ? 700 : 3000;
}

static void lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 0, 1, 2, 5, 60, TENSORS_MOST };

	(void)unused;
	for (enum tensors_where where = TENSORS_HOST; where <= TENSORS_MIXED; where++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			struct tensors_shape s = { .n = counts[c],
				                   .low = 1,
				                   .high = high_of(world, counts[c]),
				                   .where = where,
				                   .op = CHOIR_OP_SUM,
				                   .one_type = -1 };

			s.with_event = c % 2 == 1;
			s.kept = (rank + c / 2) % 2 == 0;
			tensors_run(world, rank, comm, &s);
			s.in_group = true;
			s.with_event = !s.with_event;
			s.one_type = CHOIR_F32;
			s.kept = !s.kept;
			tensors_run(world, rank, comm, &s);
		}
}

static const int all_sizes[] = { 1, 2, 3, 5, 8 }, few_sizes[] = { 2, 3 };

static void test_lists(void **state)
{
	(void)state;
	on_layouts(all_sizes, quick_wanted() ? 3 : 5, lists);
}

/* Several buckets of a type, tensors on either side of a bucket's length. */
static void long_lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int with_event = 0; with_event < 2; with_event++)
		for (enum tensors_where where = TENSORS_HOST; where <= TENSORS_MIXED; where++) {
			struct tensors_shape s = { .n = 12,
				                   .low = 100000,
				                   .high = 1200000,
				                   .where = where,
				                   .op = CHOIR_OP_SUM,
				                   .one_type = CHOIR_F32,
				                   .with_event = with_event,
				                   .kept = rank == 0 };

			tensors_run(world, rank, comm, &s);
		}
}

static void operators(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int op = 0; op < N_OPS; op++) {
		struct tensors_shape s = { .n = 30,
			                   .low = 1,
			                   .high = 300,
			                   .where = TENSORS_MIXED,
			                   .op = (choir_op)op,
			                   .one_type = -1,
			                   .with_event = op % 2,
			                   .kept = op % 2 == rank % 2 };

		if (op != CHOIR_OP_LOCAL)
			tensors_run(world, rank, comm, &s);
	}
}

static void test_operators(void **state)
{
	(void)state;
	on_layouts(few_sizes, 2, operators);
	on_layouts(few_sizes, 1, long_lists);
}

static void algorithms(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const names[] = {
		"direct",   "oneshot",          "twoshot",   "ring",    "bidirectional_ring", "recursive_doubling",
		"pairwise", "halving_doubling", "hier_ring", "hier_rd", "hier_bidirectional"
	};

	(void)unused;
	for (size_t a = 0; a < sizeof names / sizeof *names; a++)
		for (size_t high = 20; high <= 20000; high *= 100) {
			char options[64];
			struct tensors_shape s = { .n = 40,
				                   .low = 1,
				                   .high = high,
				                   .where = a % 2 ? TENSORS_HOST : TENSORS_MIXED,
				                   .op = CHOIR_OP_SUM,
				                   .one_type = CHOIR_F32,
				                   .options = options,
				                   .kept = a % 3 == 0 };

			snprintf(options, sizeof options, "algorithm=%s", names[a]);
			tensors_run(world, rank, comm, &s);
		}
}

static void test_algorithms(void **state)
{
	(void)state;
	on_layouts(all_sizes + 1, 3, algorithms);
}

/* Handles of cl_mems come back: a list that looks the same may be another one. */
static void handles(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int i = 0; i < 30; i++) {
		struct tensors_shape s = { .n = 6,
			                   .low = 200,
			                   .high = 400,
			                   .where = TENSORS_DEVICE,
			                   .op = CHOIR_OP_SUM,
			                   .one_type = CHOIR_F32,
			                   .kept = i % 3 == 0 };

		tensors_run(world, rank, comm, &s);
	}
}

static void test_handles(void **state)
{
	(void)state;
	on_layouts(few_sizes, 1, handles);
}

/* Which way a list goes: threads reach each other's tensors, and short ones are gathered. */
static void ways(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const struct {
		size_t low, high;
		const char *algorithm; /* how its name begins */
	} rows[] = { { 1000, 3000, "direct" }, { 1, 20, "oneshot" } };
	bool direct = getenv("CHOIR_REDUCE") == NULL && choir_device_class(world->device) == CHOIR_CLASS_DIRECT;

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && direct; i++) {
		struct tensors_shape s = { .n = 9,
			                   .low = rows[i].low,
			                   .high = rows[i].high,
			                   .op = CHOIR_OP_SUM,
			                   .one_type = CHOIR_F32,
			                   .with_event = true };
		struct tensors set;

		tensors_make(&set, comm, world->device, &s, (struct tensors_share){ NULL, 0 });
		tensors_fill(&set, s.op, 0);
		OK(tensors_call(&set, comm, &s));
		CHECK(tensors_are_right(&set));
		if (strncmp(set.algorithm, rows[i].algorithm, strlen(rows[i].algorithm)) != 0)
			world_fail(world, rank, "tensors of %zu to %zu went by %s", s.low, s.high, set.algorithm);
		tensors_free(&set);
	}
}

static void test_ways(void **state)
{
	(void)state;
	world_run(2, NULL, ways, NULL);
	world_run(5, NULL, ways, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lists), cmocka_unit_test(test_operators),
		                            cmocka_unit_test(test_algorithms), cmocka_unit_test(test_handles),
		                            cmocka_unit_test(test_ways) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
