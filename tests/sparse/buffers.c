/* SPDX-License-Identifier: MIT */
#include "sparse/buffers.h"

#include "dev/device_impl.h"
#include "read_mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static choir_device *device;

static struct {
	clHostMemAllocINTEL_fn host_alloc;
	clSharedMemAllocINTEL_fn shared_alloc;
	clDeviceMemAllocINTEL_fn device_alloc;
	clMemFreeINTEL_fn free;
} usm;

void buffers_open(choir_device *of)
{
	cl_platform_id platform;

	device = of;
	assert_int_equal(clGetDeviceInfo(of->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), CL_SUCCESS);
	usm.host_alloc =
	    (clHostMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clHostMemAllocINTEL");
	usm.shared_alloc =
	    (clSharedMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
	usm.device_alloc =
	    (clDeviceMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL");
	usm.free = (clMemFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clMemFreeINTEL");
}

bool buffers_have(enum memory memory)
{
	if (memory == IN_SVM)
		return device->facts.svm != 0;
	return memory < IN_USM_HOST || device->usm.info != NULL;
}

static void copy(choir_buffer_kind kind, void *to, const void *from, size_t bytes)
{
	cl_int rc = CL_SUCCESS;

	if (kind == CHOIR_BUFFER_SVM)
		rc = clEnqueueSVMMemcpy(dev_queue(device), CL_FALSE, to, from, bytes, 0, NULL, NULL);
	else if (kind == CHOIR_BUFFER_USM)
		rc = device->usm.copy(dev_queue(device), CL_TRUE, to, from, bytes, 0, NULL, NULL);
	else
		memcpy(to, from, bytes);
	assert_int_equal(rc, CL_SUCCESS);
	assert_int_equal(clFinish(dev_queue(device)), CL_SUCCESS);
}

static void *allocate(enum memory memory, size_t bytes)
{
	cl_context context = device->context;
	cl_int rc;

	switch (memory) {
	case IN_SVM:
		return clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
	case IN_USM_HOST:
		return usm.host_alloc(context, NULL, bytes, 0, &rc);
	case IN_USM_SHARED:
		return usm.shared_alloc(context, device->id, NULL, bytes, 0, &rc);
	case IN_USM_DEVICE:
		return usm.device_alloc(context, device->id, NULL, bytes, 0, &rc);
	default:
		return calloc(1, bytes);
	}
}

choir_buffer buffer_make(enum memory memory, const void *from, size_t bytes)
{
	choir_buffer buffer;
	cl_int rc;

	if (memory == IN_MEM) {
		cl_mem mem = clCreateBuffer(device->context, CL_MEM_COPY_HOST_PTR, bytes, (void *)from, &rc);

		assert_int_equal(rc, CL_SUCCESS);
		return choir_mem(mem, 0);
	}
	buffer = choir_host(allocate(memory, bytes));
	assert_non_null(buffer.base);
	if (memory == IN_SVM)
		buffer = choir_svm(buffer.base);
	else if (memory >= IN_USM_HOST)
		buffer = choir_usm(buffer.base);
	copy(buffer.kind, buffer.base, from, bytes);
	return buffer;
}

void buffer_read(choir_buffer buffer, void *to, size_t bytes)
{
	if (bytes == 0)
		return;
	if (buffer.kind == CHOIR_BUFFER_MEM)
		assert_int_equal(read_mem(dev_queue(device), buffer.base, buffer.offset_bytes, bytes, to), CL_SUCCESS);
	else
		copy(buffer.kind, to, (unsigned char *)buffer.base + buffer.offset_bytes, bytes);
}

void buffer_free(choir_buffer buffer)
{
	switch (buffer.kind) {
	case CHOIR_BUFFER_MEM:
		clReleaseMemObject(buffer.base);
		break;
	case CHOIR_BUFFER_SVM:
		clSVMFree(device->context, buffer.base);
		break;
	case CHOIR_BUFFER_USM:
		usm.free(device->context, buffer.base);
		break;
	default:
		free(buffer.base);
	}
}
