/* SPDX-License-Identifier: MIT */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "dev_fixture.h"

#include <stdlib.h>
#include <string.h>

choir_device *fixture_device;
static cl_command_queue other_queue;

int fixture_set_up(void **state)
{
	cl_int rc;

	(void)state;
	if (choir_device_create_default(0, &fixture_device) != CHOIR_SUCCESS)
		return -1;
	other_queue =
	    clCreateCommandQueue(choir_device_context(fixture_device), choir_device_id(fixture_device), 0, &rc);
	return rc == CL_SUCCESS ? 0 : -1;
}

int fixture_tear_down(void **state)
{
	(void)state;
	clReleaseCommandQueue(other_queue);
	choir_device_destroy(fixture_device);
	return 0;
}

choir_device *fixture_device_of(choir_memory_class memory_class)
{
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	choir_device *device = NULL;

	config.memory_class = memory_class;
	choir_status st = choir_device_create(choir_device_context(fixture_device), choir_device_id(fixture_device),
	                                      &config, &device);
	if (memory_class == CHOIR_CLASS_DIRECT && !fixture_device->facts.direct_works) {
		assert_int_equal(st, CHOIR_UNSUPPORTED);
		return NULL;
	}
	assert_int_equal(st, CHOIR_SUCCESS);
	assert_int_equal(choir_device_class(device), memory_class);
	return device;
}

void fixture_pattern(unsigned char *out, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)(i * 31 + (i >> 8) * 7 + seed * 97);
}

static cl_mem between(size_t bytes)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(fixture_device), CL_MEM_READ_WRITE, bytes, NULL, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return mem;
}

void fixture_peek(cl_mem mem, unsigned char *out, size_t bytes)
{
	cl_mem copy = between(bytes);

	assert_int_equal(clEnqueueCopyBuffer(other_queue, mem, copy, 0, 0, bytes, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clEnqueueReadBuffer(other_queue, copy, CL_TRUE, 0, bytes, out, 0, NULL, NULL), CL_SUCCESS);
	clReleaseMemObject(copy);
}

void fixture_poke(cl_mem mem, const unsigned char *in, size_t bytes)
{
	cl_mem copy = between(bytes);

	assert_int_equal(clEnqueueWriteBuffer(other_queue, copy, CL_TRUE, 0, bytes, in, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clEnqueueCopyBuffer(other_queue, copy, mem, 0, 0, bytes, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clFinish(other_queue), CL_SUCCESS);
	clReleaseMemObject(copy);
}

/* Maps for the time of one memcpy. */
static void through_map(choir_device *device, struct dev_access *access, unsigned char *out, const unsigned char *in)
{
	cl_event event;

	assert_ok(dev_map(device, access, &event));
	assert_ok(dev_wait(&event));
	assert_non_null(access->ptr);
	memcpy(out != NULL ? out : access->ptr, out != NULL ? access->ptr : in, access->bytes);
	assert_ok(dev_unmap(device, access, &event));
	assert_null(access->ptr);
	assert_ok(dev_wait(&event));
}

void fixture_get(choir_device *device, struct dev_access *access, unsigned char *out)
{
	cl_event event;

	if (access->direct) {
		memcpy(out, access->ptr, access->bytes);
	} else if (dev_needs_map(access)) {
		through_map(device, access, out, NULL);
	} else {
		/* In two halves, the second first. */
		uint64_t half = access->bytes / 2;
		assert_ok(dev_read(device, access, half, out + half, access->bytes - half, NULL));
		assert_ok(dev_read(device, access, 0, out, half, &event));
		assert_ok(dev_wait(&event));
	}
}

void fixture_put(choir_device *device, struct dev_access *access, const unsigned char *in)
{
	cl_event event;

	if (access->direct) {
		memcpy(access->ptr, in, access->bytes);
	} else if (dev_needs_map(access)) {
		through_map(device, access, NULL, in);
	} else {
		uint64_t half = access->bytes / 2;
		assert_ok(dev_write(device, access, half, in + half, access->bytes - half, NULL));
		assert_ok(dev_write(device, access, 0, in, half, &event));
		assert_ok(dev_wait(&event));
	}
}
