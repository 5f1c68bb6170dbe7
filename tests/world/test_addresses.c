/* SPDX-License-Identifier: MIT */
/* Calls that are like the one before them but for their addresses are checked all the same, and use these. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A sum of ones of each of two ranks, from and to these addresses. */
static void sum_comes_out(struct world *world, int rank, choir_comm *comm, int *from, choir_buffer to, const int *at)
{
	choir_event *event = NULL;

	*from = 1;
	if (OK(choir_allreduce(comm, choir_host(from), to, 1, CHOIR_I32, CHOIR_OP_SUM, NULL, &event)))
		OK(choir_event_wait(event, -1));
	CHECK(*at == 2);
	choir_event_release(event);
}

/* Each call is like the one before it but for its addresses: they are checked all the same. */
static void at_other_addresses(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int from[8] = { 0 }, to[8] = { 0 };
	choir_buffer beyond = choir_host(&to[6]);
	choir_event *event;

	(void)arg;
	beyond.offset_bytes = SIZE_MAX - 1;
	for (int i = 0; i < 4; i++)
		sum_comes_out(world, rank, comm, &from[i], choir_host(&to[i]), &to[i]);
	SAYS(choir_allreduce(comm, choir_host((char *)from + 1), choir_host(&to[4]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
	                     &event),
	     CHOIR_ARGUMENT, "send|multiple");
	SAYS(choir_allreduce(comm, choir_host(&from[4]), choir_host((char *)to + 2), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
	                     &event),
	     CHOIR_ARGUMENT, "recv|multiple");
	SAYS(choir_allreduce(comm, choir_host(NULL), choir_host(&to[4]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, &event),
	     CHOIR_ARGUMENT, "send");
	SAYS(choir_allreduce(comm, choir_host(&from[4]), beyond, 1, CHOIR_I32, CHOIR_OP_SUM, NULL, &event),
	     CHOIR_ARGUMENT, "recv|address space");
	sum_comes_out(world, rank, comm, &from[5], choir_host(&from[5]), &from[5]); /* in place */
	sum_comes_out(world, rank, comm, &from[6], choir_host(&to[6]), &to[6]);
	CHECK(to[4] == 0 && to[5] == 0 && to[7] == 0);
}

/* Those of two elements that overlap by one. */
static void overlap(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int n[8] = { 1, 1, 0, 0, 1, 1, 0, 0 };
	choir_event *event;

	(void)arg;
	OK(choir_allreduce(comm, choir_host(&n[0]), choir_host(&n[2]), 2, CHOIR_I32, CHOIR_OP_SUM, NULL, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	SAYS(choir_allreduce(comm, choir_host(&n[4]), choir_host(&n[5]), 2, CHOIR_I32, CHOIR_OP_SUM, NULL, &event),
	     CHOIR_ARGUMENT, "overlap");
	SAYS(choir_allreduce(comm, choir_host(&n[5]), choir_host(&n[4]), 2, CHOIR_I32, CHOIR_OP_SUM, NULL, &event),
	     CHOIR_ARGUMENT, "overlap");
	CHECK(n[2] == 2 && n[3] == 2 && n[4] == 1 && n[5] == 1 && n[6] == 0);
}

static void test_addresses(void **state)
{
	(void)state;
	line_up_layouts(2, at_other_addresses);
	line_up_layouts(2, overlap);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_addresses) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
