/* SPDX-License-Identifier: MIT */
/* Drivers give the handle of a cl_mem that was released to the next one.  A comm remembers its last calls by their
 * handles, so a call whose handle now stands for a smaller cl_mem must be refused as if it were new; in each memory
 * class. */
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 200, LONG = 1024, SHORT = 16 };

static cl_mem new_buffer(choir_comm *comm, size_t count)
{
	static const float zeros[LONG];

	return clCreateBuffer(choir_device_context(choir_comm_device(comm)), CL_MEM_COPY_HOST_PTR,
	                      count * sizeof(float), (void *)zeros, NULL);
}

static choir_status sum(choir_comm *comm, cl_mem mem)
{
	return choir_allreduce(comm, choir_mem(mem, 0), choir_mem(mem, 0), LONG, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
}

/* With a cl_mem that lives longer. */
static choir_status sum_list(choir_comm *comm, cl_mem mem, cl_mem lasting)
{
	const choir_tensor list[] = { { choir_mem(mem, 0), choir_mem(mem, 0), LONG, CHOIR_F32 },
		                      { choir_mem(lasting, 0), choir_mem(lasting, 0), LONG, CHOIR_F32 } };

	return choir_allreduce_multi(comm, list, 2, CHOIR_OP_SUM, NULL, NULL);
}

static void release_and_call_again(struct world *world, int rank, choir_comm *comm, void *again_p)
{
	cl_mem first, second, lasting = new_buffer(comm, LONG);

	for (int i = 0; i < ROUNDS; i++) {
		first = new_buffer(comm, LONG);
		OK(sum(comm, first));
		OK(sum(comm, first));
		OK(sum_list(comm, first, lasting));
		OK(sum_list(comm, first, lasting));
		clReleaseMemObject(first);
		second = new_buffer(comm, SHORT);
		*(int *)again_p += second == first;
		IS(sum(comm, second), CHOIR_ARGUMENT);
		IS(sum_list(comm, second, lasting), CHOIR_ARGUMENT);
		clReleaseMemObject(second);
	}
	clReleaseMemObject(lasting);
}

static void in_class(const char *class)
{
	int again = 0;

	setenv("CHOIR_CLASS", class, 1);
	world_run(1, NULL, release_and_call_again, &again);
	print_message("%s: %d of %d handles came again\n", class, again, ROUNDS);
	world_device_drop();
}

static void test_classes(void **state)
{
	(void)state;
	in_class("map");
	in_class("stage");
	unsetenv("CHOIR_CLASS");
	in_class("auto");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_classes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
