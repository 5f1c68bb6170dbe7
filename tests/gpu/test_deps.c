/* SPDX-License-Identifier: MIT */
/* A call waits for a command that its caller has not flushed: the device would never begin it. */
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 2, COUNT = 1000 };

static void sum_behind_a_write(struct world *world, int rank, choir_comm *comm, void *blocks)
{
	cl_context context = choir_device_context(world->device);
	cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(float), NULL, NULL);
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(context, choir_device_id(world->device), NULL, NULL);
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	float from[COUNT], to[COUNT];
	cl_event written = NULL;

	CHECK(mem != NULL && queue != NULL);
	for (int i = 0; i < COUNT; i++)
		from[i] = (float)(i + rank);
	CHECK(clEnqueueWriteBuffer(queue, mem, CL_FALSE, 0, sizeof from, from, 0, NULL, &written) == CL_SUCCESS);
	call.cl_deps = &written;
	call.n_cl_deps = 1;
	OK(choir_allreduce(comm, choir_mem(mem, 0), choir_mem(mem, 0), COUNT, CHOIR_F32, CHOIR_OP_SUM, &call,
	                   *(const bool *)blocks ? NULL : &event));
	if (event != NULL)
		OK(choir_event_wait(event, 10000));
	choir_event_release(event);
	CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof to, to, 0, NULL, NULL) == CL_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		CHECK(to[i] == (float)(2 * i + 1));
	clReleaseEvent(written);
	clReleaseCommandQueue(queue);
	clReleaseMemObject(mem);
}

static void commands_are_flushed(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool blocks = i == 1;

		world_run(N, NULL, sum_behind_a_write, &blocks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(commands_are_flushed) };
	int failed = cmocka_run_group_tests_name("deps", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
