/* SPDX-License-Identifier: MIT */
/* A send that no longer reaches its rank: what that rank said before it went counts, though nobody has looked at it
 * yet. */
#include "exec/engine.h"
#include "lib/ranks.h"
#include "net/hub.h"
#include "world/gate.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { COUNT = 2000 };

static void both_call(struct world *world)
{
	struct sum sums[2];

	for (int rank = 0; rank < 2; rank++)
		assert_int_equal(sum_start(&sums[rank], world->comms[rank], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	for (int rank = 0; rank < 2; rank++) {
		assert_int_equal(choir_event_wait(sums[rank].event, -1), CHOIR_SUCCESS);
		sum_free(&sums[rank]);
	}
}

static void test_said_before(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct hub_faults faults = { .dead = true, .dead_endpoint = 1, .refuses = true };
	struct world world;
	struct engine *engine;
	struct sum sum;

	(void)state;
	config.ranks_per_node = 1;
	config.deadline_ms = 30000;
	world_begin(&world, 2, &config);
	both_call(&world);
	engine = &world.comms[0]->engine;
	while (!engine_enter(engine)) /* rank 0 looks at no message from here on */
		sched_yield();
	assert_int_equal(choir_comm_destroy(world.comms[1]), CHOIR_SUCCESS);
	world.comms[1] = NULL;
	hub_set_faults(hub_of(messenger_transport(world.comms[0]->messenger)), &faults);
	assert_int_equal(sum_start(&sum, world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	engine_leave(engine);
	assert_int_equal(choir_event_wait(sum.event, -1), CHOIR_ABORTED);
	assert_true(says(choir_last_error(), "waits for rank 1, which destroyed its comm after allreduce #0 (2000 x"));
	sum_free(&sum);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_said_before) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
