/* SPDX-License-Identifier: MIT */
/* Splits that have a config of their own, blocking or not. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 300 };

/* A split of its own name, deadline and options, whose calls a flush ends. */
static void split_with_config(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *child = NULL, *bad = NULL;
	choir_call call = CHOIR_CALL_INIT;
	struct sum sums[10];
	int done = 0;

	(void)arg;
	config.name = "half";
	config.deadline_ms = 30000;
	config.options = "method=clockwise_ring";
	OK(choir_comm_split_config(comm, 0, -rank, &config, &child));
	CHECK(choir_comm_rank(child) == world->n - 1 - rank);
	for (int i = 0; i < 10; i++)
		OK(sum_start(&sums[i], child, COUNT, (float)i, NULL, true));
	config.deadline_ms = 0;
	OK(choir_comm_flush(child));
	for (int i = 0; i < 10; i++) {
		OK(choir_event_test(sums[i].event, &done));
		CHECK(done && sum_is(&sums[i], world->n) && strcmp(choir_event_algorithm(sums[i].event), "ring") == 0);
		sum_free(&sums[i]);
	}
	OK(choir_comm_flush(child));
	config.ranks_per_node = 1;
	SAYS(choir_comm_split_config(comm, 0, 0, &config, &bad), CHOIR_ARGUMENT, "ranks_per_node is the parent");
	config.ranks_per_node = 0;
	config.options = "methode=ring";
	SAYS(choir_comm_split_config(comm, 0, 0, &config, &bad), CHOIR_ARGUMENT, "nearest is 'method'");
	SAYS(choir_comm_flush(NULL), CHOIR_ARGUMENT, "null comm");
	line_up();
	call.deadline_ms = 1000;
	if (rank == 0)
		SAYS(choir_barrier(child, &call, NULL), CHOIR_TIMEOUT, "half|barrier|rank");
	line_up();
	IS(choir_comm_flush(child), CHOIR_TIMEOUT);
	OK(choir_comm_destroy(child));
}

static void test_split_config(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, split_with_config, NULL);
}

/* One thread starts a split for each of four ranks, then waits for all. */
static void test_split_start(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *children[4] = { NULL }, *none;
	choir_event *events[4];
	struct sum sums[4];
	struct world world;
	char name[] = "pairs";

	(void)state;
	world_begin(&world, 4, NULL);
	config.name = name;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
		    choir_comm_split_start(world.comms[i], i == 3 ? -1 : i % 2, -i, &config, &children[i], &events[i]),
		    CHOIR_SUCCESS);
	memset(name, 'x', sizeof name - 1); /* it was copied */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(choir_event_wait(events[i], -1), CHOIR_SUCCESS);
		choir_event_release(events[i]);
	}
	assert_null(children[3]);
	assert_int_equal(choir_comm_size(children[0]), 2);
	assert_int_equal(choir_comm_rank(children[0]), 1);
	assert_int_equal(choir_comm_size(children[1]), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sum_start(&sums[i], children[i], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(choir_event_wait(sums[i].event, -1), CHOIR_SUCCESS);
		sum_free(&sums[i]);
	}
	assert_int_equal(choir_comm_split_start(world.comms[0], 0, 0, NULL, NULL, &events[0]), CHOIR_ARGUMENT);
	assert_int_equal(choir_comm_split_start(NULL, 0, 0, NULL, &none, &events[0]), CHOIR_ARGUMENT);
	config.ranks_per_node = 3; /* a bad config fails the event */
	assert_int_equal(choir_comm_split_start(world.comms[0], 0, 0, &config, &none, &events[0]), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(events[0], -1), CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "ranks_per_node is the parent"));
	choir_event_release(events[0]);
	for (int i = 0; i < 3; i++)
		choir_comm_destroy(children[i]);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_split_config), cmocka_unit_test(test_split_start) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
