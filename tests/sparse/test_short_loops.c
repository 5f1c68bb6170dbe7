/* SPDX-License-Identifier: MIT */
/* A device that ends long loops (Note [long loops] in src/dev/facts.c) gets no sparse kernels, even where
 * CHOIR_REDUCE_KERNEL asks for them: the host coalesces there, and the device's JSON says why. */
#include "sparse/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_llvmpipe;
static int launches;

cl_int __real_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p);
cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event);

cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p)
{
	if (!is_llvmpipe || what != CL_DEVICE_NAME || value == NULL)
		return __real_clGetDeviceInfo(id, what, bytes, value, bytes_p);
	snprintf(value, bytes, "llvmpipe (LLVM 15.0.6, 256 bits)");
	return CL_SUCCESS;
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *from,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                     cl_event *event)
{
	launches++;
	return __real_clEnqueueNDRangeKernel(queue, kernel, dims, from, global, local, n, list, event);
}

/* One call on the device whose kernels are wanted; the device's JSON is given back. */
static char *json_after_call(void)
{
	const struct test_case c = { .seed = 3,
		                     .n = 2,
		                     .n_nodes = 1,
		                     .ind_dtype = CHOIR_I32,
		                     .val_dtype = CHOIR_F32,
		                     .op = CHOIR_OP_SUM,
		                     .width = 1,
		                     .most_pairs = 100,
		                     .range = 50,
		                     .memory = IN_MEM };
	char *json;

	launches = 0;
	assert_int_equal(case_open(NULL), 0);
	case_run(&c, case_devices[KERNELS]);
	assert_int_equal(choir_device_json(case_devices[KERNELS], &json), CHOIR_SUCCESS);
	(void)case_close(NULL);
	return json;
}

static void kernels_as_asked(void **state)
{
	char *json;

	(void)state;
	is_llvmpipe = false;
	json = json_after_call();
	if (strstr(json, "\"llvmpipe") == NULL) {
		assert_true(launches > 0);
		assert_non_null(strstr(json, "\"sparse_kernels\": \"yes\""));
	}
	free(json);
}

static void the_host_where_loops_end(void **state)
{
	char *json;

	(void)state;
	is_llvmpipe = true;
	json = json_after_call();
	assert_int_equal(launches, 0);
	assert_non_null(strstr(json, "\"sparse_kernels\": \"no: the driver ends loops after 65535 iterations\""));
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(kernels_as_asked),
		                            cmocka_unit_test(the_host_where_loops_end) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
