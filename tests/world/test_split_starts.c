/* SPDX-License-Identifier: MIT */
/* What ends a split that was started and is not made yet: its parent's abort or destroy. */
#include "world/gate.h"

#include "exec/comm.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

/* The parent's abort and destroy end a split that waits for a rank which does not come. */
static void test_split_ends(void **state)
{
	(void)state;
	for (int destroys = 0; destroys < 2; destroys++) {
		choir_comm *child = NULL;
		choir_event *event;
		struct world world;

		world_begin(&world, 2, NULL);
		assert_int_equal(choir_comm_split_start(world.comms[0], 0, 0, NULL, &child, &event), CHOIR_SUCCESS);
		assert_int_equal(choir_event_wait(event, 1), CHOIR_TIMEOUT);
		if (destroys) {
			choir_comm_destroy(world.comms[1]); /* who does not come */
			assert_int_not_equal(choir_event_wait(event, -1), CHOIR_SUCCESS);
			world.comms[1] = NULL;
		} else {
			assert_int_equal(choir_comm_abort(world.comms[0]), CHOIR_SUCCESS);
			assert_int_equal(choir_event_wait(event, -1), CHOIR_ABORTED);
		}
		assert_null(child);
		choir_event_release(event);
		world_end(&world);
	}
}

/* So does the destruction of the rank that started it, in much less than the deadline; and the sentence is of the call
 * that was made. */
static void test_own_destroy(void **state)
{
	static const int both[2] = { 0, 1 };
	enum { MAKING_INSIDE = 3 }; /* the start's, the split's, and that of its first call on the parent */

	(void)state;
	for (int group = 0; group < 2; group++) {
		choir_comm *child = NULL;
		choir_event *event;
		struct world world;

		world_begin(&world, 2, NULL);
		if (group)
			assert_int_equal(
			    choir_comm_create_group_start(world.comms[0], "g", both, 2, NULL, &child, &event),
			    CHOIR_SUCCESS);
		else
			assert_int_equal(choir_comm_split_start(world.comms[0], 0, 0, NULL, &child, &event),
			                 CHOIR_SUCCESS);
		while (atomic_load(&world.comms[0]->uses.inside) < MAKING_INSIDE)
			sched_yield();
		assert_int_equal(choir_comm_destroy(world.comms[0]), CHOIR_SUCCESS);
		world.comms[0] = NULL;
		assert_int_equal(choir_event_wait(event, 0), CHOIR_ABORTED);
		assert_true(says(choir_event_error(event), "destroyed"));
		assert_null(child);
		choir_event_release(event);
		world_end(&world);
	}
}

/* The parent goes before, while or after the split's thread runs: then the event is complete. */
static void test_split_of_the_destroyed(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		choir_comm *child = NULL;
		choir_event *event;
		choir_status st;
		struct world world;
		int done = 0;

		world_begin(&world, 1, NULL);
		assert_int_equal(choir_comm_split_start(world.comms[0], 0, 0, NULL, &child, &event), CHOIR_SUCCESS);
		choir_comm_destroy(world.comms[0]);
		world.comms[0] = NULL;
		assert_int_equal(choir_event_test(event, &done), CHOIR_SUCCESS);
		assert_true(done);
		st = choir_event_wait(event, -1);
		assert_true(st == CHOIR_SUCCESS || st == CHOIR_ABORTED);
		assert_true((st == CHOIR_SUCCESS) == (child != NULL));
		choir_event_release(event);
		choir_comm_destroy(child);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_ends),
		cmocka_unit_test(test_own_destroy),
		cmocka_unit_test(test_split_of_the_destroyed),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
