/* SPDX-License-Identifier: MIT */
/* The runs that a comm keeps: after many calls at once a single one still takes a run with the memory that it has. */
#include "exec/engine.h"
#include "world/gate.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { COUNT = 2000, CALLS = 100, POOLED = 64 };

static void call(struct choir_comm *comm, struct sum *sums, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(sum_start(&sums[i], comm, COUNT, 1, NULL, true), CHOIR_SUCCESS);
}

static void end(struct sum *sums, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(choir_event_wait(sums[i].event, -1), CHOIR_SUCCESS);
		sum_free(&sums[i]);
	}
}

static int kept(struct choir_comm *comm, const struct run_pool *pool)
{
	int n;

	pthread_mutex_lock(&comm->submission.lock);
	n = pool->n;
	pthread_mutex_unlock(&comm->submission.lock);
	return n;
}

/* Without rank 1 none of rank 0's calls ends. */
static void test_after_many(void **state)
{
	static struct sum sums[2][CALLS];
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct submission *submission;
	struct world world;

	(void)state;
	config.deadline_ms = 30000;
	world_begin(&world, 2, &config);
	submission = &world.comms[0]->submission;
	for (int rank = 0; rank < 2; rank++)
		call(world.comms[rank], sums[rank], CALLS);
	for (int rank = 0; rank < 2; rank++)
		end(sums[rank], CALLS);
	while (kept(world.comms[0], &submission->bare) <
	       CALLS - POOLED) /* an event is complete before its run is kept */
		sched_yield();
	assert_int_equal(kept(world.comms[0], &submission->pool), POOLED);
	call(world.comms[0], sums[0], 1);
	assert_int_equal(kept(world.comms[0], &submission->pool), POOLED - 1);
	assert_int_equal(kept(world.comms[0], &submission->bare), CALLS - POOLED);
	call(world.comms[1], sums[1], 1);
	for (int rank = 0; rank < 2; rank++)
		end(sums[rank], 1);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_after_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
