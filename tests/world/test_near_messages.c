/* SPDX-License-Identifier: MIT */
/* The messages of algorithms that pass messages, between ranks of a node: they go through the arena, also where some
 * wait in it for a late rank, and those that find no room there by the transport. */
#include "net/messenger.h"
#include "world/gate.h"
#include "world/option_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static _Atomic int by_transport;

choir_status __real_messenger_send(struct messenger *messenger, int endpoint, const struct wire_header *header,
                                   const void *payload, size_t bytes, _Atomic int *in_flight);
choir_status __wrap_messenger_send(struct messenger *messenger, int endpoint, const struct wire_header *header,
                                   const void *payload, size_t bytes, _Atomic int *in_flight);
choir_status __wrap_messenger_send(struct messenger *messenger, int endpoint, const struct wire_header *header,
                                   const void *payload, size_t bytes, _Atomic int *in_flight)
{
	by_transport += header->kind == WIRE_DATA;
	return __real_messenger_send(messenger, endpoint, header, payload, bytes, in_flight);
}

static const char *const methods[] = { "clockwise_ring",      "anticlockwise_ring",    "bidirectional_ring_pair",
	                               "meet_in_middle_ring", "quad_directional_ring", "broadcast" };
enum { N_METHODS = sizeof methods / sizeof *methods };

static void each_method(struct world *world, int rank, choir_comm *comm, void *count_p)
{
	for (int m = 0; m < N_METHODS; m++)
		for (int which = 0; which < 3; which++) {
			char options[64];

			snprintf(options, sizeof options, "method=%s", methods[m]);
			run_one(world, rank, comm, which, *(const size_t *)count_p, options);
		}
}

/* Of one node all; long ones may find no room where ranks are late. */

static void test_near_and_far(void **state)
{
	size_t counts[] = { 1, SHORT, LONG };

	(void)state;
	for (int n = 2; n <= 5; n++) {
		by_transport = 0;
		world_run_at(n, 0, 30000, each_method, &counts[0]);
		world_run_at(n, 0, 30000, each_method, &counts[1]);
		assert_int_equal(by_transport, 0);
		world_run_at(n, 0, 30000, each_method, &counts[2]);
	}
	for (int c = 0; c < 3; c++) {
		by_transport = 0;
		world_run_at(4, 2, 30000, each_method, &counts[c]);
		assert_true(by_transport > 0);
	}
}

/* Rank 0 makes its calls before the others make any: more messages than a ring has room for. */
enum { CALLS = 6, MANY = 400000 };

static void late_ranks(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call ring = with_options("method=clockwise_ring");
	int32_t *data = calloc((size_t)CALLS * MANY, sizeof *data);
	choir_event *events[CALLS];

	(void)unused;
	for (size_t i = 0; i < (size_t)CALLS * MANY; i++)
		data[i] = (int32_t)(i % 1000) + rank;
	if (rank != 0)
		line_up();
	for (int c = 0; c < CALLS; c++)
		OK(choir_allreduce(comm, choir_host(&data[c * MANY]), choir_host(&data[c * MANY]), MANY, CHOIR_I32,
		                   CHOIR_OP_SUM, &ring, &events[c]));
	if (rank == 0) {
		IS(choir_event_wait(events[CALLS - 1], 200), CHOIR_TIMEOUT); /* it sends what it can */
		line_up();
	}
	for (int c = 0; c < CALLS; c++) {
		OK(choir_event_wait(events[c], -1));
		choir_event_release(events[c]);
	}
	for (size_t i = 0; i < (size_t)CALLS * MANY; i++)
		if (data[i] != world->n * (int32_t)(i % 1000) + world->n * (world->n - 1) / 2) {
			world_fail(world, rank, "element %zu is %d", i, data[i]);
			break;
		}
	free(data);
}

static void test_late_ranks(void **state)
{
	(void)state;
	by_transport = 0;
	line_up_run(2, 0, 60000, late_ranks, NULL);
	assert_true(by_transport > 0);
	line_up_run(3, 0, 60000, late_ranks, NULL);
}

/* Other calls on another rank, sends among them: what is in the ring is not taken for what it is not. */
static void sends_between(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call ring = with_options("method=clockwise_ring"), tagged = CHOIR_CALL_INIT;
	int next = (rank + 1) % world->n, before = (rank + world->n - 1) % world->n;
	int32_t sent[3] = { rank, 10 * rank, 100 * rank }, got[3] = { -1, -1, -1 }, sum = 1;
	choir_event *events[7];

	(void)unused;
	tagged.tag = 5;
	OK(choir_send(comm, choir_host(&sent[0]), 1, CHOIR_I32, next, NULL, &events[0]));
	OK(choir_allreduce(comm, choir_host(&sum), choir_host(&sum), 1, CHOIR_I32, CHOIR_OP_SUM, &ring, &events[1]));
	OK(choir_send(comm, choir_host(&sent[1]), 1, CHOIR_I32, next, &tagged, &events[2]));
	OK(choir_send(comm, choir_host(&sent[2]), 1, CHOIR_I32, next, NULL, &events[3]));
	OK(choir_recv(comm, choir_host(&got[1]), 1, CHOIR_I32, before, &tagged, &events[4]));
	OK(choir_recv(comm, choir_host(&got[0]), 1, CHOIR_I32, before, NULL, &events[5]));
	OK(choir_recv(comm, choir_host(&got[2]), 1, CHOIR_I32, before, NULL, &events[6]));
	for (int i = 0; i < 7; i++) {
		OK(choir_event_wait(events[i], -1));
		choir_event_release(events[i]);
	}
	CHECK(sum == world->n && got[0] == before && got[1] == 10 * before && got[2] == 100 * before);
}

static void test_sends_between(void **state)
{
	(void)state;
	for (int n = 2; n <= 3; n++)
		world_run_at(n, 0, 30000, sends_between, NULL);
}

/* The others see it by their messages, or in their lanes: both calls are named. */
static void differ(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call ring = with_options("method=clockwise_ring");
	int32_t x[2] = { 1, 1 }, y[2];

	(void)unused;
	SAYS(choir_allreduce(comm, choir_host(x), choir_host(y), rank == 0 ? 2 : 1, CHOIR_I32, CHOIR_OP_SUM, &ring,
	                     NULL),
	     CHOIR_MISMATCH, "calls differ|rank 0 calls allreduce #0 (2 x i32, sum, ring)|(1 x i32, sum, ring)");
	line_up();
}

static void test_differ(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, differ, NULL);
	line_up_run(3, 0, 30000, differ, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_near_and_far), cmocka_unit_test(test_late_ranks),
		                            cmocka_unit_test(test_sends_between), cmocka_unit_test(test_differ) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
