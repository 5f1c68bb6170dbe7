/* SPDX-License-Identifier: MIT */
/* Copies of the stage class: each direction has a queue of its own, and is in order there. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "dev_fixture.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 30011
#define TIMES 20

static cl_command_queue queue_of(cl_event event)
{
	cl_command_queue queue = NULL;

	assert_int_equal(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL), CL_SUCCESS);
	return queue;
}

/* Commands that nobody lets go hold the queue of kernels; copies both ways go on. */
static void test_directions(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	unsigned char *bytes = malloc(BYTES), *seen = calloc(1, BYTES);
	cl_event written, read, held;
	struct dev_access access;
	cl_mem mem;
	cl_int rc;
	cl_event gate = clCreateUserEvent(choir_device_context(device), &rc);

	(void)state;
	assert_int_equal(rc, CL_SUCCESS);
	assert_ok(dev_buffer_create(device, BYTES, &mem));
	access = dev_buffer_access(mem, 0, BYTES);
	fixture_pattern(bytes, BYTES, 1);
	assert_int_equal(clEnqueueMarkerWithWaitList(dev_queue(device), 1, &gate, &held), CL_SUCCESS);
	clFlush(dev_queue(device));
	assert_ok(dev_stage_write(device, &access, 0, bytes, BYTES, &written));
	assert_ptr_not_equal(queue_of(written), dev_queue(device));
	assert_int_equal(clWaitForEvents(1, &written), CL_SUCCESS);
	assert_ok(dev_stage_read(device, &access, 0, seen, BYTES, &read));
	assert_ptr_not_equal(queue_of(read), dev_queue(device));
	assert_ptr_not_equal(queue_of(read), queue_of(written));
	assert_int_equal(clWaitForEvents(1, &read), CL_SUCCESS);
	assert_memory_equal(seen, bytes, BYTES);
	clSetUserEventStatus(gate, CL_COMPLETE);
	assert_ok(dev_wait(&held));
	clReleaseEvent(written);
	clReleaseEvent(read);
	clReleaseEvent(gate);
	dev_buffer_free(mem);
	free(bytes);
	free(seen);
	choir_device_destroy(device);
}

/* Only the last event of many is watched. */
static void order_in(choir_device *device, cl_mem mem)
{
	unsigned char *bytes = malloc(TIMES * BYTES), *seen = malloc(BYTES);
	struct dev_access access = dev_buffer_access(mem, 0, BYTES);
	cl_event event = NULL;

	for (unsigned i = 0; i < TIMES; i++)
		fixture_pattern(bytes + i * BYTES, BYTES, i);
	for (unsigned i = 0; i < TIMES; i++)
		assert_ok(
		    dev_stage_write(device, &access, 0, bytes + i * BYTES, BYTES, i + 1 == TIMES ? &event : NULL));
	assert_ok(dev_wait(&event));
	fixture_peek(mem, seen, BYTES);
	assert_memory_equal(seen, bytes + (TIMES - 1) * BYTES, BYTES);
	for (unsigned i = 0; i < TIMES; i++)
		assert_ok(dev_stage_read(device, &access, i, seen, BYTES - i, i + 1 == TIMES ? &event : NULL));
	assert_ok(dev_wait(&event));
	assert_memory_equal(seen, bytes + (TIMES - 1) * BYTES + TIMES - 1, BYTES - TIMES + 1);
	free(bytes);
	free(seen);
}

static void test_order(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	cl_mem mem;

	(void)state;
	assert_ok(dev_buffer_create(device, BYTES, &mem));
	order_in(device, mem);
	dev_buffer_free(mem);
	choir_device_destroy(device);
}

/* Bytes are where they should be when the call returns, for who looks from another queue too. */
static void test_now(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	unsigned char *bytes = malloc(BYTES), *seen = malloc(BYTES);
	struct dev_access access;
	cl_mem mem;

	(void)state;
	assert_ok(dev_buffer_create(device, BYTES, &mem));
	access = dev_buffer_access(mem, 0, BYTES);
	for (unsigned i = 0; i < 300; i++) {
		size_t n = i < 200 ? 1 + i * 7 : BYTES - i;

		fixture_pattern(bytes, n, i);
		assert_ok(dev_stage_write_now(device, &access, 0, bytes, n));
		fixture_peek(mem, seen, BYTES);
		assert_memory_equal(seen, bytes, n);
		memset(seen, 0, n);
		assert_ok(dev_stage_read_now(device, &access, 0, seen, n));
		assert_memory_equal(seen, bytes, n);
	}
	dev_buffer_free(mem);
	free(bytes);
	free(seen);
	choir_device_destroy(device);
}

/* Nothing is enqueued outside a range; no bytes are an event all the same. */
static void test_edges(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	unsigned char bytes[64] = { 0 };
	struct dev_access access;
	cl_event event = NULL;
	cl_mem mem;

	(void)state;
	assert_ok(dev_buffer_create(device, sizeof bytes, &mem));
	access = dev_buffer_access(mem, 0, sizeof bytes);
	assert_fails(dev_stage_read(device, &access, 1, bytes, sizeof bytes, &event), CHOIR_ARGUMENT,
	             "outside the range");
	assert_fails(dev_stage_write(device, &access, 65, bytes, 1, &event), CHOIR_ARGUMENT, "outside the range");
	assert_null(event);
	assert_ok(dev_stage_write(device, &access, 64, bytes, 0, &event));
	assert_ok(dev_wait(&event));
	dev_buffer_free(mem);
	choir_device_destroy(device);
}

const struct CMUnitTest stage_tests[] = {
	cmocka_unit_test(test_directions),
	cmocka_unit_test(test_order),
	cmocka_unit_test(test_now),
	cmocka_unit_test(test_edges),
};
const size_t n_stage_tests = sizeof stage_tests / sizeof *stage_tests;
