/* SPDX-License-Identifier: MIT */
/* Tags of send, recv and sendrecv: a recv takes the next message of its source and tag, whatever else has come; and the
 * sentences where no such message comes. */
#include "world/gate.h"
#include "world/tag_calls.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_order(void **state)
{
	(void)state;
	line_up_layouts(1, tags_in_other_order);
	line_up_layouts(2, tags_in_other_order);
	line_up_layouts(3, tags_in_other_order);
}

static void test_many(void **state)
{
	(void)state;
	line_up_layouts(2, tags_many);
}

/* A sendrecv has one tag; requests keep theirs, and start in another order. */
static void in_other_forms(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int left = (rank + world->n - 1) % world->n, right = (rank + 1) % world->n, values[2] = { 0 }, out, in;
	choir_call seven = tagged(7), eight = tagged(8);
	choir_request *sends[2], *recvs[2];

	(void)unused;
	OK(choir_send_init(comm, choir_host(&values[0]), 1, CHOIR_I32, right, &seven, &sends[0]));
	OK(choir_send_init(comm, choir_host(&values[1]), 1, CHOIR_I32, right, &eight, &sends[1]));
	OK(choir_recv_init(comm, choir_host(&in), 1, CHOIR_I32, left, &seven, &recvs[0]));
	OK(choir_recv_init(comm, choir_host(&in), 1, CHOIR_I32, left, &eight, &recvs[1]));
	for (int round = 0; round < 3; round++) {
		values[0] = rank * 10 + round;
		values[1] = rank * 10 + round + 100;
		OK(choir_start(sends[0], NULL, NULL));
		OK(choir_start(sends[1], NULL, NULL));
		out = rank + 1000 * round;
		OK(choir_sendrecv(comm, choir_host(&out), 1, right, choir_host(&in), 1, left, CHOIR_I32, NULL, NULL));
		CHECK(in == left + 1000 * round);
		OK(choir_start(recvs[1], NULL, NULL));
		CHECK(in == left * 10 + round + 100);
		out = rank + 500 * round;
		OK(choir_sendrecv(comm, choir_host(&out), 1, right, choir_host(&in), 1, left, CHOIR_I32, &eight, NULL));
		CHECK(in == left + 500 * round);
		OK(choir_start(recvs[0], NULL, NULL));
		CHECK(in == left * 10 + round);
	}
	SAYS(choir_start(sends[0], &seven, NULL), CHOIR_ARGUMENT, "choir_start|tag|choir_send_init");
	for (int i = 0; i < 2; i++) {
		choir_request_free(sends[i]);
		choir_request_free(recvs[i]);
	}
}

static void test_forms(void **state)
{
	(void)state;
	line_up_layouts(2, in_other_forms);
}

static void refused(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call any = tagged(-1), large = tagged((int64_t)1 << 31), largest = tagged(INT32_MAX), some = tagged(4);
	choir_buffer none = choir_none();
	int value = 0;
	size_t n = 0;

	(void)unused;
	SAYS(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 0, &any, NULL), CHOIR_ARGUMENT,
	     "choir_recv|tag is -1|no wildcard");
	SAYS(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 0, &large, NULL), CHOIR_ARGUMENT,
	     "choir_send|tag is 2147483648");
	SAYS(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 0, &largest, NULL), CHOIR_ARGUMENT,
	     "choir_send|tag is 2147483647; the largest is 2147483646");
	SAYS(choir_allreduce(comm, choir_host(&value), choir_host(&value), 1, CHOIR_I32, CHOIR_OP_SUM, &some, NULL),
	     CHOIR_ARGUMENT, "choir_allreduce|tag is 4|send, recv and sendrecv");
	SAYS(choir_sparse_allreduce(comm, none, 0, none, 0, none, &n, none, &n, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                            NULL, &some, NULL),
	     CHOIR_ARGUMENT, "choir_sparse_allreduce|tag is 4");
	CHECK(sum_works(comm, 8));
}

static void test_refused(void **state)
{
	(void)state;
	line_up_layouts(2, refused);
}

/* Rank 1 has sent with tag 7, rank 0 waits for tag 5. */
static void other_tag(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call call = tagged(rank == 0 ? 5 : 7);
	int value = rank;

	(void)unused;
	call.deadline_ms = rank == 0 ? 1000 : 0;
	if (rank == 1)
		OK(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 0, &call, NULL));
	line_up();
	if (rank == 0)
		SAYS(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 1, &call, NULL), CHOIR_TIMEOUT,
		     "send/recv #0 with tag 5|waits for rank 1|a message from it with tag 7 waits for a recv");
	line_up();
}

static void test_other_tag(void **state)
{
	(void)state;
	line_up_layouts(2, other_tag);
}

/* A rank that has gone sends no more with a tag than it has: at once, not at the deadline. */
static void gone(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call seven = tagged(7), five = tagged(5);
	choir_event *event = NULL;
	int value = rank;

	(void)unused;
	if (rank == 1) {
		OK(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 0, &five, NULL));
		OK(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 0, &seven, NULL));
		OK(choir_comm_destroy(comm));
		world->comms[1] = NULL;
		line_up();
		return;
	}
	line_up();
	OK(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 1, &seven, NULL));
	CHECK(value == 1);
	OK(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 1, &seven, &event));
	value = 0;
	SAYS(choir_event_wait(event, 30000), CHOIR_ABORTED,
	     "send/recv #1 with tag 7 |waits for rank 1, which destroyed");
	choir_event_release(event);
}

static void test_gone(void **state)
{
	(void)state;
	line_up_run(2, 0, 60000, gone, NULL);
	line_up_run(2, 1, 60000, gone, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),   cmocka_unit_test(test_many),      cmocka_unit_test(test_forms),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_other_tag), cmocka_unit_test(test_gone),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
