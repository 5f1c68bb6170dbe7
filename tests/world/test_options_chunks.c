/* SPDX-License-Identifier: MIT */
/* The options that change a plan's chunks, of calls and of comms. */
#include "exec/comm.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONG = 40000 };

/* An allreduce of LONG elements by the algorithm: steps and scratch bytes of the plan that it took. */
struct taken {
	uint32_t steps;
	uint64_t scratch;
};

static struct taken take(struct world *world, int rank, choir_comm *comm, const char *algorithm, const char *more)
{
	int32_t *send = calloc(LONG, sizeof *send), *recv = calloc(LONG, sizeof *recv);
	choir_call call = CHOIR_CALL_INIT;
	struct taken taken = { 0 };
	char options[128];

	snprintf(options, sizeof options, "algorithm=%s%s", algorithm, more);
	call.options = options;
	plan_cache_fini(&comm->plans); /* so that the one plan in it is this call's */
	OK(plan_cache_init(&comm->plans));
	send[LONG - 1] = 1 + rank;
	OK(choir_allreduce(comm, choir_host(send), choir_host(recv), LONG, CHOIR_I32, CHOIR_OP_SUM, &call, NULL));
	CHECK(recv[0] == 0 && recv[LONG - 1] == world->n * (world->n + 1) / 2);
	for (size_t i = 0; i < PLAN_CACHE_ENTRIES; i++)
		if (comm->plans.entries[i] != NULL)
			taken = (struct taken){ comm->plans.entries[i]->plan.n_steps,
				                comm->plans.entries[i]->plan.scratch_bytes };
	CHECK(taken.steps > 0);
	free(send);
	free(recv);
	return taken;
}

static void chunks(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call wide = CHOIR_CALL_INIT;
	struct taken usual = take(world, rank, comm, "twoshot", ""), ring = take(world, rank, comm, "ring", "");
	int32_t x = 1, y;

	(void)arg;
	wide.options = "maxBytesPerTile=64001";
	CHECK(take(world, rank, comm, "twoshot", ", maxBytesPerTile=4096").steps >= 2 * usual.steps);
	CHECK(take(world, rank, comm, "ring", ", chunk_bytes=4096").steps >= 4 * ring.steps);
	CHECK(take(world, rank, comm, "ring", ", syncful.useOptimisedLayout=false").scratch > ring.scratch);
	CHECK(take(world, rank, comm, "ring", ", syncful.useOptimisedLayout=true").scratch == ring.scratch);
	SAYS(choir_allreduce(comm, choir_host(&x), choir_host(&y), 1, CHOIR_I32, CHOIR_OP_SUM, &wide, NULL),
	     CHOIR_ARGUMENT, "maxBytesPerTile is '64001'|from 4096 to 64000");
}

/* What rank 0 takes without an option of the call's. */
struct of_comm {
	struct taken twoshot, ring;
};

static void look(struct world *world, int rank, choir_comm *comm, void *of_comm_p)
{
	struct of_comm of = { take(world, rank, comm, "twoshot", ""), take(world, rank, comm, "ring", "") };

	if (rank == 0)
		*(struct of_comm *)of_comm_p = of;
}

static struct of_comm with_options(const char *options)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct of_comm of = { { 0 }, { 0 } };

	config.deadline_ms = 30000;
	config.options = options;
	world_run(3, &config, look, &of);
	return of;
}

static void test_calls(void **state)
{
	(void)state;
	world_run_at(3, 0, 30000, chunks, NULL);
}

static void test_comms(void **state)
{
	struct of_comm usual = with_options(NULL);

	(void)state;
	assert_true(with_options("maxBytesPerTile=4096").twoshot.steps >= 2 * usual.twoshot.steps);
	assert_true(with_options("chunk_bytes=4096").ring.steps >= 4 * usual.ring.steps);
	assert_true(with_options("syncful.useOptimisedLayout=false").ring.scratch > usual.ring.scratch);
	assert_true(with_options("syncful.useOptimisedLayout=true").ring.scratch == usual.ring.scratch);
}

/* A call's option comes before the comm's, by whatever key: it takes what it would without the comm's. */
struct both {
	const char *comm, *call;
	struct taken taken; /* by rank 0 */
};

static void look_at_both(struct world *world, int rank, choir_comm *comm, void *both_p)
{
	struct both *both = both_p;
	struct taken taken = take(world, rank, comm, "ring", both->call);

	if (rank == 0)
		both->taken = taken;
}

static uint32_t steps_of_both(const char *of_comm, const char *of_call)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct both both = { of_comm, of_call, { 0 } };

	config.deadline_ms = 30000;
	config.options = of_comm;
	world_run(3, &config, look_at_both, &both);
	return both.taken.steps;
}

static void test_two_keys(void **state)
{
	static const char *const cases[][2] = {
		{ "maxBytesPerTile=4096", ", chunk_bytes=32768" },
		{ "maxBytesPerTile=32768", ", chunk_bytes=4096" },
		{ "chunk_bytes=4096", ", maxBytesPerTile=32768" },
		{ "chunk_bytes=32768", ", maxBytesPerTile=4096" },
	};

	(void)state;
	assert_true(steps_of_both(NULL, cases[0][1]) < steps_of_both(NULL, cases[1][1]));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(steps_of_both(cases[i][0], cases[i][1]), steps_of_both(NULL, cases[i][1]));
}

/* A call of its own and a script of the same comm may send messages of different lengths, and one of them cut its
 * chunks by what the ranks' buses and caches are. */
static void plans_of_two_kinds(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct algo_in in = { .layout = &comm->layout,
		              .me = rank,
		              .collective = COLLECTIVE_ALLTOALL,
		              .elem_bytes = 4,
		              .bytes = 1 << 20,
		              .slot_bytes = comm->slot_bytes,
		              .message_bytes = 64 * 1024 };
	const struct algorithm *pairwise = algo_find(COLLECTIVE_ALLTOALL, "pairwise");
	const struct algorithm *twoshot = algo_find(COLLECTIVE_ALLREDUCE, "twoshot");
	struct cached_plan *shorter, *longer;

	(void)world, (void)arg;
	OK(plan_cache_get(&comm->plans, pairwise, &in, &shorter));
	in.message_bytes = 256 * 1024;
	OK(plan_cache_get(&comm->plans, pairwise, &in, &longer));
	CHECK(longer->plan.n_steps < shorter->plan.n_steps);
	cached_plan_release(shorter);
	cached_plan_release(longer);
	in.collective = COLLECTIVE_ALLREDUCE;
	in.send_direct = in.recv_direct = true;
	OK(plan_cache_get(&comm->plans, twoshot, &in, &shorter));
	in.command_bytes = 4096;
	OK(plan_cache_get(&comm->plans, twoshot, &in, &longer));
	CHECK(longer->plan.shares_slots && !shorter->plan.shares_slots);
	cached_plan_release(shorter);
	cached_plan_release(longer);
}

static void test_messages(void **state)
{
	(void)state;
	world_run(2, NULL, plans_of_two_kinds, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls), cmocka_unit_test(test_comms),
		                            cmocka_unit_test(test_two_keys), cmocka_unit_test(test_messages) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
