/* SPDX-License-Identifier: MIT */
/* The constructors of choir_buffer. */
#include "dev/device_impl.h"

choir_buffer choir_mem(cl_mem mem, size_t offset_bytes)
{
	return (choir_buffer){ CHOIR_BUFFER_MEM, mem, offset_bytes };
}

choir_buffer choir_host(const void *pointer)
{
	return (choir_buffer){ CHOIR_BUFFER_HOST, (void *)pointer, 0 };
}

choir_buffer choir_svm(const void *pointer)
{
	return (choir_buffer){ CHOIR_BUFFER_SVM, (void *)pointer, 0 };
}

choir_buffer choir_usm(const void *pointer)
{
	return (choir_buffer){ CHOIR_BUFFER_USM, (void *)pointer, 0 };
}

choir_buffer choir_none(void)
{
	return (choir_buffer){ CHOIR_BUFFER_NONE, NULL, 0 };
}

choir_status dev_keep(choir_buffer buffer, cl_mem *kept_p)
{
	cl_int rc;

	if (buffer.kind != CHOIR_BUFFER_MEM || buffer.base == NULL)
		return CHOIR_SUCCESS;
	rc = clRetainMemObject(buffer.base);
	if (rc != CL_SUCCESS)
		return error_cl("clRetainMemObject", rc);
	*kept_p = buffer.base;
	return CHOIR_SUCCESS;
}

choir_status dev_fill_zero(choir_device *device, cl_mem mem, size_t off, uint64_t bytes, size_t elem_bytes,
                           cl_event *event_p)
{
	static const unsigned char zeros[16];
	cl_int rc = clEnqueueFillBuffer(device->queue, mem, zeros, elem_bytes, off, bytes, 0, NULL, event_p);

	if (rc != CL_SUCCESS)
		return error_cl("clEnqueueFillBuffer", rc);
	if (event_p != NULL)
		clFlush(device->queue);
	return CHOIR_SUCCESS;
}
