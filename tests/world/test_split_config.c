/* SPDX-License-Identifier: MIT */
/* Splits that have a config of their own, blocking or not; flushes. */
#include "exec/comm.h"
#include "world/gate.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
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

/* Ranks with other rules would take other algorithms, and wait for each other in them, so there is no such comm; of two
 * texts that say the same there is one. */
static void other_rules(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *child = NULL;

	(void)arg;
	config.deadline_ms = 30000;
	config.rules = rank == 1 ? NULL : "alltoallv: slots";
	SAYS(choir_comm_split_config(comm, 0, 0, &config, &child), CHOIR_MISMATCH,
	     "choir_comm_split|other rules for algorithms|rank 1");
	config.rules = rank == 1 ? "alltoallv: 1k- slots" : "alltoallv: 1024- pairwise";
	SAYS(choir_comm_split_config(comm, 0, 0, &config, &child), CHOIR_MISMATCH, "other rules for algorithms");
	CHECK(child == NULL && sum_works(comm, COUNT));
	config.rules = rank == 1 ? "# the same\nalltoallv: 1k- slots;" : "alltoallv: 1024- slots";
	OK(choir_comm_split_config(comm, 0, 0, &config, &child));
	CHECK(sum_works(child, COUNT));
	OK(choir_comm_destroy(child));
}

static void test_other_rules(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		world_run_at(3, per_node, 30000, other_rules, NULL);
}

/* --- flush --- */

static void *flush_it(void *comm)
{
	return choir_comm_flush(comm) == CHOIR_SUCCESS ? comm : NULL;
}

static void *destroy_it(void *comm)
{
	return choir_comm_destroy(comm) == CHOIR_SUCCESS ? comm : NULL;
}

static void start_gated(struct sum *sum, choir_comm *comm, cl_event *gate)
{
	choir_call call = CHOIR_CALL_INIT;

	*gate = gate_make(choir_device_context(world_device()));
	call.cl_deps = gate;
	call.n_cl_deps = 1;
	assert_int_equal(sum_start(sum, comm, COUNT, 1, &call, true), CHOIR_SUCCESS);
}

static void open_gate(cl_event gate)
{
	gate_open(gate, CL_COMPLETE);
	clReleaseEvent(gate);
}

static pthread_t start_flush(choir_comm *comm)
{
	int flushing = atomic_load(&comm->uses.flushing);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, flush_it, comm), 0);
	while (atomic_load(&comm->uses.flushing) == flushing)
		sched_yield();
	return thread;
}

/* Two flushes wait for a call, and not for each other. */
static void test_flush(void **state)
{
	choir_device *device = world_device();
	pthread_t flushes[2];
	choir_comm *comm;
	struct sum sum;
	cl_event gate;

	(void)state;
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &comm), CHOIR_SUCCESS);
	start_gated(&sum, comm, &gate);
	for (int i = 0; i < 2; i++)
		flushes[i] = start_flush(comm);
	assert_int_equal(choir_event_status(sum.event), CHOIR_RUNNING);
	open_gate(gate);
	for (int i = 0; i < 2; i++) {
		void *done = NULL;

		pthread_join(flushes[i], &done);
		assert_ptr_equal(done, comm);
	}
	assert_int_equal(choir_event_status(sum.event), CHOIR_SUCCESS);
	sum_free(&sum);
	assert_int_equal(choir_comm_destroy(comm), CHOIR_SUCCESS);
}

/* Nothing that a flush looks at is freed before it has returned. */
static void test_flush_while_destroyed(void **state)
{
	choir_device *device = world_device();
	pthread_t flush, destroy;
	void *flushed = NULL, *destroyed = NULL;
	choir_comm *comm;
	struct sum sum;
	cl_event gate;

	(void)state;
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &comm), CHOIR_SUCCESS);
	start_gated(&sum, comm, &gate);
	flush = start_flush(comm);
	assert_int_equal(pthread_create(&destroy, NULL, destroy_it, comm), 0);
	while (!atomic_load(&comm->submission.closing))
		sched_yield();
	open_gate(gate);
	pthread_join(flush, &flushed);
	pthread_join(destroy, &destroyed);
	assert_ptr_equal(flushed, comm);
	assert_ptr_equal(destroyed, comm);
	assert_true(sum_is(&sum, 1));
	sum_free(&sum);
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

/* A thread splits for two ranks, of two colors.  The first color fails, since a thread that splits for one rank wants
 * it keyed; the other thread of the second color is told, and the parent goes on. */
struct two_colors {
	struct world world;
	choir_status st[3];
	char text[3][512];
};

struct splitter {
	struct two_colors *all;
	int i;
};

static void *split_some(void *arg)
{
	const struct splitter *me = arg;
	struct two_colors *all = me->all;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *made[2] = { NULL, NULL };
	const int colors[2] = { 0, 1 }, keys[2] = { 0, 0 };

	config.keyed = 1;
	if (me->i == 0)
		all->st[0] = choir_comm_split_local(2, all->world.comms, colors, keys, made);
	if (me->i == 1)
		all->st[1] = choir_comm_split_config(all->world.comms[2], 0, 0, &config, made);
	if (me->i == 2)
		all->st[2] = choir_comm_split(all->world.comms[3], 1, 0, made);
	snprintf(all->text[me->i], sizeof all->text[0], "%s", choir_last_error());
	return NULL;
}

static void test_two_colors(void **state)
{
	static struct two_colors all;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	pthread_t threads[3];
	struct splitter splitters[3];
	struct sum sums[4];

	(void)state;
	config.deadline_ms = 10000;
	world_begin(&all.world, 4, &config);
	for (int i = 0; i < 3; i++) {
		splitters[i] = (struct splitter){ &all, i };
		assert_int_equal(pthread_create(&threads[i], NULL, split_some, &splitters[i]), 0);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(all.st[i], CHOIR_MISMATCH);
		assert_true(says(all.text[i], "choir_comm_split|keyed"));
	}
	assert_true(says(all.text[2], "rank 0"));
	for (int i = 0; i < 4; i++)
		assert_int_equal(sum_start(&sums[i], all.world.comms[i], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(choir_event_wait(sums[i].event, -1), CHOIR_SUCCESS);
		assert_true(sum_is(&sums[i], 4));
		sum_free(&sums[i]);
	}
	world_end(&all.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_config), cmocka_unit_test(test_other_rules),
		cmocka_unit_test(test_flush),        cmocka_unit_test(test_flush_while_destroyed),
		cmocka_unit_test(test_split_start),  cmocka_unit_test(test_two_colors),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
