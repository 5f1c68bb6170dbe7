/* SPDX-License-Identifier: MIT */
/* A send with a tag does not stand behind recvs with tags that wait: the slow check, which would advance it there, is
 * wrapped and does nothing. */
#include "exec/flight.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { WAITING = 256, TAG = 1000 };

void __wrap_flight_advance_queued(struct flight *flight, size_t number, bool (*advance)(struct run *run));

void __wrap_flight_advance_queued(struct flight *flight, size_t number, bool (*advance)(struct run *run))
{
	(void)flight;
	(void)number;
	(void)advance;
}

static void sends(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_event *events[WAITING] = { NULL };
	int32_t value = 7, got[WAITING] = { 0 };
	choir_call call = CHOIR_CALL_INIT;

	(void)unused;
	for (int i = 0; i < WAITING && rank == 0; i++) {
		call.tag = i + 1;
		OK(choir_recv(comm, choir_host(&got[i]), 1, CHOIR_I32, 1, &call, &events[i]));
	}
	call.tag = TAG;
	OK(rank == 0 ? choir_send(comm, choir_host(&value), 1, CHOIR_I32, 1, &call, NULL)
	             : choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 0, &call, NULL));
	for (int i = 0; i < WAITING && rank == 1; i++) {
		call.tag = i + 1;
		value = i;
		OK(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 0, &call, NULL));
	}
	for (int i = 0; i < WAITING && rank == 0; i++) {
		OK(choir_event_wait(events[i], -1));
		CHECK(got[i] == i);
		choir_event_release(events[i]);
	}
}

static void test_sends(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		world_run_at(2, per_node, 10000, sends, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sends) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
