/* SPDX-License-Identifier: MIT */
/* A rank says that it has left a failed call when its device's commands no longer read its peers' memory.  On the model
 * GPU, where a command takes long. */
#include "exec/engine.h"
#include "exec/withdraw.h"
#include "world/devices.h"
#include "world/flight.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int withdrawn, left_open; /* ranks that left; commands that they had under way */

static int commands_under_way(const struct choir_comm *comm)
{
	int n = 0;

	for (const struct run *run = comm->engine.flight.all; run != NULL; run = run->next)
		for (uint32_t i = 0; i < run->board.capacity; i++) {
			cl_int state = CL_COMPLETE;

			if (run->board.events[i] != NULL)
				clGetEventInfo(run->board.events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
				               &state, NULL);
			n += state != CL_COMPLETE;
		}
	return n;
}

void __real_withdraw(struct choir_comm *comm, int64_t now_ns);
void __wrap_withdraw(struct choir_comm *comm, int64_t now_ns);
void __wrap_withdraw(struct choir_comm *comm, int64_t now_ns)
{
	int open = commands_under_way(comm);
	bool first = comm->engine.withdrawn_ns == 0;

	__real_withdraw(comm, now_ns);
	if (first) {
		__atomic_fetch_add(&left_open, open, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&withdrawn, 1, __ATOMIC_SEQ_CST);
	}
}

/* Rank 0 aborts while the device of rank 1 copies what rank 0 broadcasts. */
static void test_commands_end_first(void **state)
{
	const struct dense_call call = { .what = &collectives[BROADCAST],
		                         .dtype = CHOIR_F32,
		                         .op = CHOIR_OP_SUM,
		                         .n = 2,
		                         .count = 1000,
		                         .device = true,
		                         .options = "algorithm=device" };
	struct dense_flight flights[2];
	struct world world;
	bool under_way = false;

	(void)state;
	devices_begin(&world, 2, 0);
	for (int r = 0; r < 2; r++)
		flight_make(&flights[r], &world, r, &call);
	for (int r = 0; r < 2; r++)
		flight_start(&flights[r], &world, world.comms[r], NULL);
	while (!under_way && choir_event_status(flights[1].event) == CHOIR_RUNNING) {
		if (!engine_enter(&world.comms[1]->engine)) {
			sched_yield();
			continue;
		}
		under_way = commands_under_way(world.comms[1]) > 0;
		if (under_way)
			assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
		engine_leave(&world.comms[1]->engine);
	}
	assert_true(under_way);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(choir_event_wait(flights[r].event, -1), CHOIR_ABORTED);
		flight_free(&flights[r]);
	}
	assert_int_equal(withdrawn, 2);
	assert_int_equal(left_open, 0);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_commands_end_first) };

	return cmocka_run_group_tests(tests, devices_open, devices_close);
}
