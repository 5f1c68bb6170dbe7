/* SPDX-License-Identifier: MIT */
/* Copies between a caller's memory and host memory of ours, on the internal queue. */
#include "dev/device_impl.h"

static choir_status check_copy(const char *what, const struct dev_access *access, uint64_t off, uint64_t bytes)
{
	if (access->direct || (access->mem == NULL && access->usm == NULL && access->svm == NULL))
		return error_set(CHOIR_ARGUMENT, "%s: the buffer is reached directly", what);
	if (off > access->bytes || bytes > access->bytes - off)
		return error_set(CHOIR_ARGUMENT, "%s: %llu bytes from %llu are outside the range of %llu", what, (unsigned long long)bytes,
		                 (unsigned long long)off, (unsigned long long)access->bytes);
	return CHOIR_SUCCESS;
}

/* The flags of the cl_mem keep the host out: the bytes pass through a buffer that lives as long as the two commands. */
static cl_int copy_between(choir_device *device, const struct dev_access *access, uint64_t off, void *to, const void *from, uint64_t bytes,
                           cl_event *event_p)
{
	cl_int rc;
	cl_mem between = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &rc);

	if (rc != CL_SUCCESS)
		return rc;
	if (to != NULL) {
		rc = clEnqueueCopyBuffer(device->queue, access->mem, between, access->off + off, 0, bytes, 0, NULL, NULL);
		if (rc == CL_SUCCESS)
			rc = clEnqueueReadBuffer(device->queue, between, CL_FALSE, 0, bytes, to, 0, NULL, event_p);
	} else {
		rc = clEnqueueWriteBuffer(device->queue, between, CL_FALSE, 0, bytes, from, 0, NULL, NULL);
		if (rc == CL_SUCCESS)
			rc = clEnqueueCopyBuffer(device->queue, between, access->mem, 0, access->off + off, bytes, 0, NULL, event_p);
	}
	clReleaseMemObject(between); /* the commands hold it */
	return rc;
}

static cl_int copy_pointer(choir_device *device, const struct dev_access *access, void *to, const void *from, uint64_t bytes, cl_event *event_p)
{
	if (access->usm != NULL)
		return device->usm.copy(device->queue, CL_FALSE, to, from, bytes, 0, NULL, event_p);
	return clEnqueueSVMMemcpy(device->queue, CL_FALSE, to, from, bytes, 0, NULL, event_p);
}

choir_status dev_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to, uint64_t bytes, cl_event *event_p)
{
	cl_int rc;

	if (bytes == 0)
		return event_p != NULL ? dev_marker(device->queue, event_p) : CHOIR_SUCCESS;
	TRY(check_copy("dev_read", access, off, bytes));
	if (access->mem == NULL)
		rc = copy_pointer(device, access, to, (unsigned char *)(access->usm != NULL ? access->usm : access->svm) + off, bytes, event_p);
	else if (access->no_read)
		rc = copy_between(device, access, off, to, NULL, bytes, event_p);
	else
		rc = clEnqueueReadBuffer(device->queue, access->mem, CL_FALSE, access->off + off, bytes, to, 0, NULL, event_p);
	if (rc != CL_SUCCESS)
		return error_cl("dev_read: enqueue", rc);
	clFlush(device->queue);
	return CHOIR_SUCCESS;
}

choir_status dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from, uint64_t bytes, cl_event *event_p)
{
	cl_int rc;

	if (bytes == 0)
		return event_p != NULL ? dev_marker(device->queue, event_p) : CHOIR_SUCCESS;
	TRY(check_copy("dev_write", access, off, bytes));
	if (access->mem == NULL)
		rc = copy_pointer(device, access, (unsigned char *)(access->usm != NULL ? access->usm : access->svm) + off, from, bytes, event_p);
	else if (access->no_write)
		rc = copy_between(device, access, off, NULL, from, bytes, event_p);
	else
		rc = clEnqueueWriteBuffer(device->queue, access->mem, CL_FALSE, access->off + off, bytes, from, 0, NULL, event_p);
	if (rc != CL_SUCCESS)
		return error_cl("dev_write: enqueue", rc);
	clFlush(device->queue);
	return CHOIR_SUCCESS;
}
