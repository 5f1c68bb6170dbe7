/* SPDX-License-Identifier: MIT */
/* Lifetimes: threads that end, and comms that are destroyed, while others use what they leave. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <pthread.h>

enum { COUNT = 16 };

/* --- threads --- */

struct caller {
	pthread_t thread;
	choir_comm *comm;
	choir_status status;
	char text[256];
};

static void *call_once(void *arg)
{
	struct caller *caller = arg;

	line_up();
	caller->status = sum_works(caller->comm, COUNT) ? CHOIR_SUCCESS : CHOIR_ARGUMENT;
	snprintf(caller->text, sizeof caller->text, "%s", choir_last_error());
	return NULL;
}

/* Each round two new threads make one blocking call each, one a rank, and end: a thread gets what the system kept of an older one. */
static void test_new_threads(void **state)
{
	struct caller callers[2];
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	line_up_begin(2);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 2; i++) {
			struct caller *caller = &callers[(i + round) % 2];

			caller->comm = world.comms[(i + round) % 2];
			assert_int_equal(pthread_create(&caller->thread, NULL, call_once, caller), 0);
		}
		for (int i = 0; i < 2; i++)
			pthread_join(callers[i].thread, NULL);
		for (int i = 0; i < 2; i++)
			if (callers[i].status != CHOIR_SUCCESS)
				fail_msg("round %d, rank %d: %s", round, i, callers[i].text);
	}
	line_up_end();
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_new_threads) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
