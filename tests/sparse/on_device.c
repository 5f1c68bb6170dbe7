/* SPDX-License-Identifier: MIT */
#include "quick.h"
#include "sparse/interprets.h" /* before the names of ours */
#include "sparse/on_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

choir_device *device;
bool small, short_loops;

int open_device(void **state)
{
	(void)state;
	if (choir_device_create_default(0, &device) != CHOIR_SUCCESS)
		return -1;
	small = device_interprets(device) || quick_wanted();
	short_loops = !dev_has_long_loops(device);
	return 0;
}

int close_device(void **state)
{
	(void)state;
	choir_device_destroy(device);
	return 0;
}

cl_mem upload(const void *from, size_t bytes)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, bytes, (void *)from, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return mem;
}

void *blank(size_t bytes)
{
	return memset(malloc(bytes), SENTINEL, bytes);
}
