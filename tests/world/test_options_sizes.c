/* SPDX-License-Identifier: MIT */
/* syncful.maxBroadcastSize: up to which size an allreduce is a broadcast. */
#include "world/option_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void sizes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	(void)arg; /* 3 ranks x 4 B x count */
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "syncful.maxBroadcastSize=3600"), "oneshot"));
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "syncful.maxBroadcastSize=3599"), "twoshot"));
	CHECK(same(run_one(world, rank, comm, 0, LONG, "syncful.maxBroadcastSize=1000000"), "oneshot"));
	CHECK(same(run_one(world, rank, comm, 0, LONG, NULL), "twoshot"));
}

/* Between nodes; 4 ranks x 4 B x count.  What the rules take by themselves stays where that is no broadcast. */
static void sizes_of_nodes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const char *names[2];

	(void)arg;
	CHECK(same(run_one(world, rank, comm, 0, SHORT, "syncful.maxBroadcastSize=4800"), "broadcast"));
	names[0] = run_one(world, rank, comm, 0, SHORT, "syncful.maxBroadcastSize=4799");
	CHECK(!same(names[0], "broadcast"));
	CHECK(same(run_one(world, rank, comm, 0, LONG, "syncful.maxBroadcastSize=640000"), "broadcast"));
	names[0] = run_one(world, rank, comm, 0, LONG, NULL);
	names[1] = run_one(world, rank, comm, 0, LONG, "syncful.maxBroadcastSize=639999");
	CHECK(!same(names[0], "broadcast") && same(names[0], names[1]));
}

/* A float sum in rank order, which sums of pairs would not give. */
static const char *sum_in_order(struct world *world, int rank, choir_comm *comm, const char *options)
{
	static const float values[4] = { 1e8f, 1, -1e8f, 3 };
	static const float wanted = ((1e8f + 1) - 1e8f) + 3;
	choir_call call = with_options(options);
	float sent[SHORT], got[SHORT] = { 0 };
	choir_event *event = NULL;
	const char *name = "";

	for (int i = 0; i < SHORT; i++)
		sent[i] = values[rank];
	if (OK(choir_allreduce(comm, choir_host(sent), choir_host(got), SHORT, CHOIR_F32, CHOIR_OP_SUM, &call,
	                       &event)) &&
	    OK(choir_event_wait(event, -1)))
		name = choir_event_algorithm(event);
	choir_event_release(event);
	for (int i = 0; i < SHORT; i++)
		CHECK(got[i] == wanted);
	return name;
}

/* Between nodes, where the rules say broadcast, and in rank order. */
static void sizes_in_order(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const char *longer = sum_in_order(world, rank, comm, "order=ranks, syncful.maxBroadcastSize=4799");

	(void)arg;
	CHECK(same(sum_in_order(world, rank, comm, "order=ranks, syncful.maxBroadcastSize=4800"), "broadcast"));
	if (!same(longer, "pairwise"))
		world_fail(world, rank, "beyond syncful.maxBroadcastSize, in rank order: %s", longer);
	CHECK(!same(run_one(world, rank, comm, 0, SHORT, "order=ranks, syncful.maxBroadcastSize=4799"), "broadcast"));
}

static void test_sizes_in_order(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.deadline_ms = 30000;
	config.rules = "allreduce: 0- broadcast";
	for (config.ranks_per_node = 1; config.ranks_per_node <= 2; config.ranks_per_node++)
		world_run(4, &config, sizes_in_order, NULL);
}

static void test_sizes(void **state)
{
	(void)state;
	setenv("CHOIR_CLASS", "map", 1); /* no direct access between threads */
	world_device_drop();
	world_run_at(3, 0, 30000, sizes, NULL);
	world_run_at(4, 2, 30000, sizes_of_nodes, NULL);
	world_run_at(4, 1, 30000, sizes_of_nodes, NULL);
	unsetenv("CHOIR_CLASS");
	world_device_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_sizes_in_order) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
