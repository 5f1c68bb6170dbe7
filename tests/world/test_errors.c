/* SPDX-License-Identifier: MIT */
/* What goes wrong between ranks: late ones, aborts, one thread that blocks for several ranks, groups. */
#include "world/gate.h"

#include "base/wait.h"
#include "exec/comm.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 2000, LEARNS_MS = 10000, LATE_MS = 1000, BUSY_MS = 4000, WARN_MS = 300 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[8192];

static void keep_log(void *ctx, int level, const char *text)
{
	(void)ctx;
	pthread_mutex_lock(&log_lock);
	if (level <= 1)
		strncat(logged, text, sizeof logged - strlen(logged) - 1);
	pthread_mutex_unlock(&log_lock);
}

static const int layouts[] = { 0, 1, 2 };

/* --- a rank that never calls --- */

static void late(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int missing = *(int *)arg, timed = missing == 0 ? 1 : 0;
	choir_call call = CHOIR_CALL_INIT;
	char words[48];
	struct sum sum;

	CHECK(sum_works(comm, COUNT));
	if (rank != missing && rank != timed)
		OK(sum_start(&sum, comm, COUNT, 1, NULL, true));
	line_up(); /* the three are there before the fourth's deadline, and the missing one is missed by all */
	if (rank == missing)
		return;
	call.deadline_ms = LATE_MS;
	snprintf(words, sizeof words, "allreduce|rank %d (it has made 1 call)", missing);
	if (rank == timed)
		OK(sum_start(&sum, comm, COUNT, 1, &call, true));
	IS(choir_event_wait(sum.event, -1), CHOIR_TIMEOUT);
	if (!says(choir_event_error(sum.event), words))
		world_fail(world, rank, "late: \"%s\" does not say %s", choir_event_error(sum.event), words);
	sum_free(&sum);
	IS(choir_barrier(comm, NULL, NULL), CHOIR_TIMEOUT);
	IS(choir_comm_status(comm), CHOIR_TIMEOUT);
}

static void test_late(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++)
		for (int missing = 0; missing < 5; missing += 2) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			char words[32];

			logged[0] = '\0';
			config.ranks_per_node = layouts[l];
			config.deadline_ms = 20000;
			config.warn_ms = WARN_MS;
			line_up_begin(5);
			world_run(5, &config, late, &missing);
			line_up_end();
			snprintf(words, sizeof words, "waits for rank %d (", missing);
			if (!says(logged, words))
				fail_msg("the log does not say %s: %s", words, logged);
		}
}

/* Ranks 0 and 1 keep the process busy on a comm of their own; rank 2 waits on the world for ranks that do not come.
 * Its deadline is kept, and so is the time of its wait before. */
static void busy(struct world *world, int rank, choir_comm *comm, void *arg)
{
	_Atomic int *over = arg;
	choir_call call = CHOIR_CALL_INIT;
	choir_comm *child;
	struct sum sum;

	OK(choir_comm_split(comm, rank == 2, 0, &child));
	line_up(); /* rank 2's failure would end a split */
	if (rank == 2) {
		call.deadline_ms = BUSY_MS;
		OK(sum_start(&sum, comm, COUNT, 1, &call, true));
		IS(choir_event_wait(sum.event, 20), CHOIR_TIMEOUT);
		CHECK(choir_event_status(sum.event) == CHOIR_RUNNING);
		IS(choir_event_wait(sum.event, -1), CHOIR_TIMEOUT);
		CHECK(says(choir_event_error(sum.event), "allreduce|rank 0"));
		sum_free(&sum);
		*over = 1;
	} else {
		float mine = 0, all = 0;

		for (int i = 0; all == 0 && i < 10000000; i++) {
			mine = (float)*over; /* their maximum ends it, for both at once */
			if (!OK(choir_allreduce(child, choir_host(&mine), choir_host(&all), 1, CHOIR_F32, CHOIR_OP_MAX,
			                        NULL, NULL)))
				break;
		}
	}
	OK(choir_comm_destroy(child));
}

static void test_busy(void **state)
{
	(void)state;
	for (size_t l = 0; l < 2; l++) {
		_Atomic int over = 0;

		line_up_run(3, layouts[l], 20000, busy, &over);
	}
}

/* --- abort --- */

/* A rank that makes no calls learns it too, from choir_comm_status alone. */
static void learns(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int64_t end = wait_end_ns(LEARNS_MS);

	(void)arg;
	CHECK(sum_works(comm, COUNT));
	line_up();
	if (rank == world->n - 1)
		OK(choir_comm_abort(comm));
	while (choir_comm_status(comm) == CHOIR_SUCCESS && wait_now_ns() < end)
		sched_yield();
	IS(choir_comm_status(comm), CHOIR_ABORTED);
}

static void test_idle_learns(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++)
		line_up_run(3, layouts[l], 20000, learns, NULL);
}

static void aborts(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum sum;

	(void)arg;
	CHECK(sum_works(comm, COUNT));
	line_up();
	if (rank == world->n - 1) {
		OK(choir_comm_abort(comm));
		OK(choir_comm_abort(comm)); /* again: no harm */
	} else {
		IS(sum_start(&sum, comm, COUNT, 1, NULL, false), CHOIR_ABORTED);
		CHECK(says(choir_last_error(), "aborted by rank"));
		sum_free(&sum);
	}
	IS(choir_barrier(comm, NULL, NULL), CHOIR_ABORTED);
}

static void test_abort(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++)
		for (int n = 2; n <= 5; n += 3)
			line_up_run(n, layouts[l], 20000, aborts, NULL);
}

/* --- one thread, several ranks --- */

static void test_would_deadlock(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world world;
	struct sum sums[2];

	(void)state;
	config.warn_ms = 200;
	config.deadline_ms = 20000;
	world_begin(&world, 2, &config);
	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&sums[r], world.comms[r], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(sums[0].event, -1), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(sums[1].event, -1), CHOIR_SUCCESS);
	/* this thread was the last to use rank 1: refused at once, nothing is lost */
	assert_int_equal(choir_barrier(world.comms[0], NULL, NULL), CHOIR_WOULD_DEADLOCK);
	assert_true(says(choir_last_error(), "choir_barrier|rank 0|rank 1|choir_group_begin"));
	assert_int_equal(choir_comm_status(world.comms[0]), CHOIR_SUCCESS);
	sum_free(&sums[0]);
	sum_free(&sums[1]);
	/* rank 1's matching call is under way: now rank 0 may block */
	assert_int_equal(sum_start(&sums[1], world.comms[1], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	assert_int_equal(sum_start(&sums[0], world.comms[0], COUNT, 1, NULL, false), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(sums[1].event, -1), CHOIR_SUCCESS); /* its buffers are free only now */
	assert_true(sum_is(&sums[0], 2) && sum_is(&sums[1], 2));
	sum_free(&sums[0]);
	sum_free(&sums[1]);
	world_end(&world);
	/* nobody has used rank 1: its thread may be late, so the log says it, and the deadline ends it */
	config.deadline_ms = 2000;
	world_begin(&world, 2, &config);
	logged[0] = '\0';
	assert_int_equal(choir_barrier(world.comms[0], NULL, NULL), CHOIR_TIMEOUT);
	assert_int_equal(choir_comm_status(world.comms[1]), CHOIR_TIMEOUT);
	assert_true(says(logged, "choir_barrier|rank 0|rank 1, which no thread has called for yet|choir_group_begin"));
	world_end(&world);
}

/* --- groups --- */

static void test_groups(void **state)
{
	(void)state;
	for (size_t l = 0; l < 3; l++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		float out[3] = { 1, 2, 3 }, in[3] = { 0 }, self = 0;
		struct sum sums[3];
		choir_event *events[3];
		struct world world;

		config.ranks_per_node = layouts[l];
		config.deadline_ms = 20000;
		world_begin(&world, 3, &config);
		/* crossing sends, a send to oneself, blocking sums and events of three ranks by one thread, nested, a
		 * refused call among them */
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		for (int r = 0; r < 3; r++) {
			assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
			assert_int_equal(sum_start(&sums[r], world.comms[r], COUNT, 2, NULL, false), CHOIR_SUCCESS);
			assert_int_equal(
			    choir_send(world.comms[r], choir_host(&out[r]), 1, CHOIR_F32, (r + 1) % 3, NULL, NULL),
			    CHOIR_SUCCESS);
			assert_int_equal(
			    choir_recv(world.comms[r], choir_host(&in[r]), 1, CHOIR_F32, (r + 2) % 3, NULL, NULL),
			    CHOIR_SUCCESS);
			assert_int_equal(choir_barrier(world.comms[r], NULL, &events[r]), CHOIR_SUCCESS);
			assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
			/* it has not even begun */
			assert_int_equal(choir_event_wait(events[r], 0), CHOIR_WOULD_DEADLOCK);
		}
		assert_int_equal(choir_send(world.comms[1], choir_host(&out[1]), 1, CHOIR_F32, 1, NULL, NULL),
		                 CHOIR_SUCCESS);
		assert_int_equal(choir_recv(world.comms[1], choir_host(&self), 1, CHOIR_F32, 1, NULL, NULL),
		                 CHOIR_SUCCESS);
		assert_int_equal(choir_send(world.comms[0], choir_host(out), 3, CHOIR_F32, 3, NULL, NULL),
		                 CHOIR_ARGUMENT);
		assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
		for (int r = 0; r < 3; r++) {
			assert_true(sum_is(&sums[r], 3));
			assert_true(in[r] == out[(r + 2) % 3]);
			assert_int_equal(choir_event_wait(events[r], -1), CHOIR_SUCCESS);
			choir_event_release(events[r]);
			sum_free(&sums[r]);
		}
		assert_true(self == out[1]);
		/* a call whose comm fails before the end: the group's end says so, the others in it go on */
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		assert_int_equal(choir_barrier(world.comms[0], NULL, &events[0]), CHOIR_SUCCESS);
		assert_int_equal(choir_barrier(world.comms[1], NULL, NULL), CHOIR_SUCCESS);
		assert_int_equal(choir_comm_abort(world.comms[1]), CHOIR_SUCCESS);
		assert_int_equal(choir_group_end(), CHOIR_ABORTED);
		assert_int_equal(choir_event_wait(events[0], -1), CHOIR_ABORTED);
		choir_event_release(events[0]);
		world_end(&world);
	}
}

/* A comm that is destroyed while a group holds a call of it. */
static void test_destroyed_in_group(void **state)
{
	choir_device *device = world_device();
	choir_event *event;
	choir_comm *comm;

	(void)state;
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &comm), CHOIR_SUCCESS);
	assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
	assert_int_equal(choir_barrier(comm, NULL, &event), CHOIR_SUCCESS);
	assert_int_equal(choir_comm_destroy(comm), CHOIR_SUCCESS);
	assert_int_equal(choir_group_end(), CHOIR_ABORTED);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_ABORTED);
	choir_event_release(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),           cmocka_unit_test(test_busy),
		cmocka_unit_test(test_abort),          cmocka_unit_test(test_idle_learns),
		cmocka_unit_test(test_groups),         cmocka_unit_test(test_destroyed_in_group),
		cmocka_unit_test(test_would_deadlock),
	};
	int failed;

	choir_set_log(keep_log, NULL);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_device_drop();
	return failed;
}
