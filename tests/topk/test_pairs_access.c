/* SPDX-License-Identifier: MIT */
/* The calls on one device from and to cl_mems that the host may not touch. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static cl_mem made_of(choir_device *device, cl_command_queue queue, cl_mem_flags flags, const void *content,
                      size_t bytes)
{
	cl_mem plain = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, bytes, (void *)content, NULL),
	       mem = clCreateBuffer(choir_device_context(device), flags, bytes, NULL, NULL);

	assert_int_equal(clEnqueueCopyBuffer(queue, plain, mem, 0, 0, bytes, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clFinish(queue), CL_SUCCESS);
	clReleaseMemObject(plain);
	return mem;
}

static void look_at(choir_device *device, cl_command_queue queue, cl_mem mem, void *to, size_t bytes)
{
	cl_mem plain = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, bytes, NULL, NULL);

	assert_int_equal(clEnqueueCopyBuffer(queue, mem, plain, 0, 0, bytes, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clEnqueueReadBuffer(queue, plain, CL_TRUE, 0, bytes, to, 0, NULL, NULL), CL_SUCCESS);
	clReleaseMemObject(plain);
}

/* cl_mems that the host may not touch: kernels do all the work, and a wrong index is still told. */
static void not_the_hosts(void **state)
{
	static const int32_t good[] = { 7, 7, 3, 9 }, bad[] = { 7, -5, 3, -9 };
	static const float rows[] = { 1, 2, 3, 4 };
	choir_device *usual = world_device(), *device;
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	int32_t to[4] = { 0 };
	float sums[4] = { 0 };
	size_t n = 4;

	(void)state;
	config.memory_class = CHOIR_CLASS_STAGE;
	config.reduce = CHOIR_REDUCE_KERNEL;
	assert_int_equal(choir_device_create(choir_device_context(usual), choir_device_id(usual), &config, &device),
	                 CHOIR_SUCCESS);
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(choir_device_context(device), choir_device_id(device), NULL, NULL);
	cl_mem in = made_of(device, queue, CL_MEM_HOST_NO_ACCESS, good, sizeof good),
	       wrong = made_of(device, queue, CL_MEM_HOST_NO_ACCESS, bad, sizeof bad),
	       val_in = made_of(device, queue, CL_MEM_HOST_NO_ACCESS, rows, sizeof rows),
	       out = made_of(device, queue, CL_MEM_HOST_NO_ACCESS, to, sizeof to),
	       val_out = made_of(device, queue, CL_MEM_HOST_NO_ACCESS, sums, sizeof sums);

	assert_int_equal(choir_coalesce_rows(device, choir_mem(in, 0), 4, choir_mem(val_in, 0), 4, CHOIR_I32, CHOIR_F32,
	                                     CHOIR_OP_SUM, choir_mem(out, 0), choir_mem(val_out, 0), &n, NULL, NULL),
	                 CHOIR_SUCCESS);
	assert_int_equal(n, 3);
	look_at(device, queue, out, to, sizeof to);
	look_at(device, queue, val_out, sums, sizeof sums);
	assert_true(to[0] == 3 && to[1] == 7 && to[2] == 9);
	assert_true(sums[0] == 3 && sums[1] == 3 && sums[2] == 4);
	assert_int_equal(choir_coalesce_rows(device, choir_mem(wrong, 0), 4, choir_mem(val_in, 0), 4, CHOIR_I32,
	                                     CHOIR_F32, CHOIR_OP_SUM, choir_mem(out, 0), choir_mem(val_out, 0), &n,
	                                     NULL, NULL),
	                 CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "index -5 at position 1"));
	clReleaseMemObject(in);
	clReleaseMemObject(wrong);
	clReleaseMemObject(val_in);
	clReleaseMemObject(out);
	clReleaseMemObject(val_out);
	clReleaseCommandQueue(queue);
	choir_device_destroy(device);
	world_device_drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(not_the_hosts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
