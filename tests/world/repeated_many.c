/* SPDX-License-Identifier: MIT */
#include "world/repeated_many.h"

#include "exec/prepared.h"
#include "world/gate.h"

enum { CALLS = 300, NEW_CALLS = 2000, ROUNDS = 6 };

static int32_t given[NEW_CALLS], got[NEW_CALLS];

static void reduce_each(struct world *world, int rank, choir_comm *comm, int n, int round)
{
	for (int i = 0; i < n; i++) {
		given[i] = 1000 * round + i;
		got[i] = -1;
		OK(choir_allreduce(comm, choir_host(&given[i]), choir_host(&got[i]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                   NULL));
		CHECK(got[i] == given[i]);
	}
}

static int count_kept(const choir_comm *comm)
{
	int n = 0;

	for (uint32_t i = 0; i <= comm->engine.cache.last; i++)
		n += comm->engine.cache.entries[i].prepared != NULL;
	return n;
}

/* A few calls may push each other out. */
static void come_back(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++)
		reduce_each(world, rank, comm, CALLS, round);
	CHECK(count_kept(comm) > CALLS - CALLS / 20 && count_kept(comm) <= CALLS);
}

static void are_new(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	reduce_each(world, rank, comm, NEW_CALLS, 0);
	CHECK(comm->engine.cache.last == PREPARED_FIRST - 1 && count_kept(comm) > PREPARED_FIRST / 2);
}

void test_repeated_many(void **state)
{
	(void)state;
	line_up_run(1, 0, 20000, come_back, NULL);
	line_up_run(1, 0, 20000, are_new, NULL);
}
