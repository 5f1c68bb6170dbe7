/* SPDX-License-Identifier: MIT */
/* result=atomic: a call that is repeated is prepared once, and keeps no cl_mem between two calls. */
#include "base/wait.h"
#include "world/memory.h"
#include "world/world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char atomic[] = "result=atomic";

static _Atomic int rooms; /* made for results */

choir_status __real_commit_create(choir_device *device, size_t n, uint64_t bytes, void *out_p);
choir_status __wrap_commit_create(choir_device *device, size_t n, uint64_t bytes, void *out_p);
choir_status __wrap_commit_create(choir_device *device, size_t n, uint64_t bytes, void *out_p)
{
	rooms++;
	return __real_commit_create(device, n, bytes, out_p);
}

enum { AGAIN = 60, MOST_ROOMS = 3 * AGAIN / 2 };

static cl_uint references(cl_mem mem)
{
	cl_uint n = 0;

	clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof n, &n, NULL);
	return n;
}

/* The driver's last command lets go of its own references after it has ended: they are waited for. */
static bool references_become(cl_mem mem, cl_uint wanted)
{
	int64_t end = wait_now_ns() + INT64_C(30000000000);

	while (references(mem) != wanted && wait_now_ns() < end)
		sched_yield();
	return references(mem) == wanted;
}

/* The comm remembers the call, not its cl_mem; a second one beside it has a room of its own. */
static void again(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *events[2] = { NULL };
	int32_t send[100], wanted[100];
	struct memory recv;
	cl_uint before;

	(void)arg;
	call.options = atomic;
	for (int e = 0; e < 100; e++) {
		send[e] = e + rank;
		wanted[e] = world->n * e + world->n * (world->n - 1) / 2;
	}
	CHECK(memory_make(&recv, world->device, true, sizeof wanted, 4));
	before = references(recv.mem);
	for (int i = 0; i < AGAIN; i++)
		OK(choir_allreduce(comm, choir_host(send), recv.buffer, 100, CHOIR_I32, CHOIR_OP_SUM, &call, NULL));
	CHECK(references_become(recv.mem, before));
	memory_pull(&recv);
	CHECK(memcmp(memory_payload(&recv), wanted, sizeof wanted) == 0 && memory_sentinels_stand(&recv));
	for (int i = 0; i < 2; i++)
		OK(choir_allreduce(comm, choir_host(send), recv.buffer, 100, CHOIR_I32, CHOIR_OP_SUM, &call,
		                   &events[i]));
	for (int i = 0; i < 2; i++)
		if (events[i] != NULL)
			OK(choir_event_wait(events[i], -1));
	for (int i = 0; i < 2; i++)
		choir_event_release(events[i]);
	CHECK(references_become(recv.mem, before));
	memory_pull(&recv);
	CHECK(memcmp(memory_payload(&recv), wanted, sizeof wanted) == 0);
	memory_free(&recv);
}

static void list_again(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	int32_t send[2][50], recv[2][50];
	choir_tensor tensors[2];

	(void)arg;
	call.options = atomic;
	for (int t = 0; t < 2; t++) {
		for (int e = 0; e < 50; e++)
			send[t][e] = e + t;
		tensors[t] = (choir_tensor){ choir_host(send[t]), choir_host(recv[t]), 50, CHOIR_I32 };
	}
	for (int i = 0; i < AGAIN; i++) {
		memset(recv, 0, sizeof recv);
		OK(choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_SUM, &call, NULL));
		CHECK(recv[0][49] == world->n * 49 && recv[1][49] == world->n * 50);
	}
}

/* A call is not remembered while another thread drives the comm, which depends on the scheduler: if none ever were,
 * each call of both ranks would make a room. */
static void test_again(void **state)
{
	const char *class = getenv("CHOIR_CLASS");
	bool lasts = class == NULL && choir_device_class(world_device()) == CHOIR_CLASS_DIRECT;

	(void)state;
	rooms = 0;
	world_run_at(2, 0, 30000, again, NULL);
	if (lasts && rooms >= MOST_ROOMS)
		fail_msg("%d calls on 2 ranks made %d rooms", AGAIN + 2, rooms);
	rooms = 0;
	world_run_at(2, 0, 30000, list_again, NULL);
	if (rooms >= MOST_ROOMS)
		fail_msg("%d lists on 2 ranks made %d rooms", AGAIN, rooms);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_again) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
