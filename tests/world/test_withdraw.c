/* SPDX-License-Identifier: MIT */
/* A call that failed returns when no peer touches its buffers any more (Note [withdrawal] in src/exec/withdraw.c). */
#include "exec/engine.h"
#include "base/wait.h"
#include "exec/progress.h"
#include "exec/withdraw.h"
#include "world/gate.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <cmocka.h>

enum { COUNT = 3000 };

static bool has_flag(choir_comm *comm, uint64_t seq)
{
	return atomic_load(&comm_lane(comm, comm->local_rank, (int)(seq % COMM_LANES))->flag) >= ARENA_FLAG(seq, 0);
}

/* Two of three ranks have met no third one; rank 1 is kept at the step it is at, while rank 0's comm is aborted. */
static void test_waits_for_a_peer_inside(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world world;
	struct sum sums[2];

	(void)state;
	if (choir_device_class(world_device()) != CHOIR_CLASS_DIRECT)
		skip(); /* nobody is in another rank's memory */
	config.deadline_ms = 20000;
	world_begin(&world, 3, &config);
	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&sums[r], world.comms[r], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	while (!has_flag(world.comms[0], 0) || !has_flag(world.comms[1], 0))
		sched_yield();
	while (!engine_enter(&world.comms[1]->engine))
		sched_yield();
	assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
	/* a thread of this process is at most at a piece */
	assert_int_equal(choir_event_wait(sums[0].event, WITHDRAW_MS + 100), CHOIR_TIMEOUT);
	engine_leave(&world.comms[1]->engine);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(choir_event_wait(sums[r].event, 10000), CHOIR_ABORTED);
		sum_free(&sums[r]);
	}
	assert_int_equal(choir_comm_status(world.comms[2]), CHOIR_ABORTED);
	world_end(&world);
}

/* The same where rank 0's deadline passes. */
static void test_time_out_waits_for_a_peer_inside(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_call call = CHOIR_CALL_INIT;
	struct world world;
	struct sum sums[2];

	(void)state;
	if (choir_device_class(world_device()) != CHOIR_CLASS_DIRECT)
		skip(); /* nobody is in another rank's memory */
	config.deadline_ms = 60000;
	call.deadline_ms = 200;
	world_begin(&world, 3, &config);
	assert_int_equal(sum_start(&sums[1], world.comms[1], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	while (!has_flag(world.comms[1], 0))
		sched_yield();
	while (!engine_enter(&world.comms[1]->engine))
		sched_yield();
	assert_int_equal(sum_start(&sums[0], world.comms[0], COUNT, 1, &call, true), CHOIR_SUCCESS);
	while (choir_comm_status(world.comms[0]) == CHOIR_SUCCESS)
		(void)choir_event_wait(sums[0].event, 1);
	assert_int_equal(choir_comm_status(world.comms[0]), CHOIR_TIMEOUT);
	assert_int_equal(choir_event_wait(sums[0].event, WITHDRAW_MS + 100), CHOIR_TIMEOUT);
	assert_int_equal(choir_event_status(sums[0].event), CHOIR_RUNNING);
	engine_leave(&world.comms[1]->engine);
	for (int r = 0; r < 2; r++) {
		(void)choir_event_wait(sums[r].event, 10000);
		assert_int_equal(choir_event_status(sums[r].event), CHOIR_TIMEOUT);
		sum_free(&sums[r]);
	}
	world_end(&world);
}

/* The third rank comes when the others have gone: nothing was waited for, and it goes nowhere. */
static void test_waits_for_no_late_rank(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world world;
	struct sum sums[3];
	int64_t start;

	(void)state;
	if (choir_device_class(world_device()) != CHOIR_CLASS_DIRECT)
		skip(); /* nobody is in another rank's memory */
	config.deadline_ms = 20000;
	world_begin(&world, 3, &config);
	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&sums[r], world.comms[r], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	while (!has_flag(world.comms[0], 0) || !has_flag(world.comms[1], 0))
		sched_yield();
	start = wait_now_ns();
	assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++)
		assert_int_equal(choir_event_wait(sums[r].event, -1), CHOIR_ABORTED);
	assert_true(wait_now_ns() - start < 10000 * INT64_C(1000000));
	assert_int_equal(sum_start(&sums[2], world.comms[2], COUNT, 1, NULL, false), CHOIR_ABORTED);
	for (int r = 0; r < 3; r++)
		sum_free(&sums[r]);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_waits_for_a_peer_inside),
		                            cmocka_unit_test(test_time_out_waits_for_a_peer_inside),
		                            cmocka_unit_test(test_waits_for_no_late_rank) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
