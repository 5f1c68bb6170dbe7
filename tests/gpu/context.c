/* SPDX-License-Identifier: MIT */
/* Contexts are the driver's, over the CPUs behind the model's devices. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static struct table contexts;

struct context *context_of(cl_context handle)
{
	return table_find(&contexts, handle);
}

bool context_has(const struct context *context, const struct device *device)
{
	for (unsigned i = 0; i < context->n; i++)
		if (context->devices[i] == device)
			return true;
	return false;
}

cl_command_queue context_queue(struct context *context, const struct device *device)
{
	for (unsigned i = 0; i < context->n; i++)
		if (context->devices[i] == device)
			return context->below[i];
	return NULL;
}

cl_uint devices_below(cl_uint n, const cl_device_id *ids, cl_device_id *out)
{
	cl_uint n_out = 0;

	for (cl_uint i = 0; i < n; i++) {
		const struct device *device = device_of(ids[i]);
		bool known = false;

		for (cl_uint k = 0; k < n_out && device != NULL; k++)
			known = known || out[k] == device->below;
		if (device != NULL && !known)
			out[n_out++] = device->below;
	}
	return n_out;
}

/* The driver's CPU uses memory of the model's in place, or the model cannot work. */
static bool is_in_place(cl_context handle, cl_command_queue queue)
{
	enum { BYTES = 4096 };
	unsigned char *bytes = aligned_alloc(4096, BYTES), seen = 0;
	cl_int rc;

	if (bytes == NULL)
		return false;
	memset(bytes, 1, BYTES);
	cl_mem mem = below->clCreateBuffer(handle, CL_MEM_USE_HOST_PTR, BYTES, bytes, &rc);
	bytes[7] = 2;
	bool yes = rc == CL_SUCCESS &&
	           below->clEnqueueReadBuffer(queue, mem, CL_TRUE, 7, 1, &seen, 0, NULL, NULL) == CL_SUCCESS &&
	           seen == 2;
	seen = 3;
	yes = yes && below->clEnqueueWriteBuffer(queue, mem, CL_TRUE, 8, 1, &seen, 0, NULL, NULL) == CL_SUCCESS &&
	      bytes[8] == 3;
	if (rc == CL_SUCCESS)
		below->clReleaseMemObject(mem);
	free(bytes);
	return yes;
}

static void destroy(struct context *context)
{
	for (unsigned i = 0; i < context->n; i++)
		if (context->below[i] != NULL)
			below->clReleaseCommandQueue(context->below[i]);
	free(context);
}

static cl_int fill(struct context *context)
{
	cl_int rc = CL_SUCCESS;

	for (unsigned i = 0; i < context->n && rc == CL_SUCCESS; i++)
		context->below[i] = below->clCreateCommandQueue(context->handle, context->devices[i]->below, 0, &rc);
	if (rc == CL_SUCCESS && !is_in_place(context->handle, context->below[0])) {
		report("base", "the driver below copies buffers over host memory: the model cannot work on it");
		rc = CL_OUT_OF_RESOURCES;
	}
	return rc;
}

static cl_context CL_API_CALL create(const cl_context_properties *properties, cl_uint n, const cl_device_id *ids,
                                     void(CL_CALLBACK *fn)(const char *, const void *, size_t, void *), void *arg,
                                     cl_int *rc_p)
{
	struct context *context = n > 0 && n <= 16 && ids != NULL ? calloc(1, sizeof *context) : NULL;
	cl_device_id real[16];
	cl_int rc = context != NULL ? CL_SUCCESS : CL_INVALID_VALUE;

	blocking_call("clCreateContext");
	for (cl_uint i = 0; i < n && rc == CL_SUCCESS; i++) {
		context->devices[i] = device_of(ids[i]);
		if (context->devices[i] == NULL)
			rc = CL_INVALID_DEVICE;
	}
	if (rc == CL_SUCCESS)
		context->handle = below->clCreateContext(properties, devices_below(n, ids, real), real, fn, arg, &rc);
	if (rc == CL_SUCCESS) {
		context->refs = 1;
		context->n = n;
		rc = fill(context);
		if (rc != CL_SUCCESS)
			below->clReleaseContext(context->handle);
	}
	if (rc_p != NULL)
		*rc_p = rc;
	if (rc != CL_SUCCESS) {
		free(context);
		return NULL;
	}
	pthread_mutex_lock(&model_lock);
	for (cl_uint i = 0; i < n; i++)
		device_start(context->devices[i]);
	table_add(&contexts, context->handle, context);
	pthread_mutex_unlock(&model_lock);
	return context->handle;
}

static cl_int CL_API_CALL retain(cl_context handle)
{
	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	if (context != NULL)
		context->refs++;
	pthread_mutex_unlock(&model_lock);
	return context != NULL ? below->clRetainContext(handle) : CL_INVALID_CONTEXT;
}

static cl_int CL_API_CALL release(cl_context handle)
{
	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	bool last = context != NULL && --context->refs == 0;
	if (last)
		table_remove(&contexts, handle);
	pthread_mutex_unlock(&model_lock);
	if (context == NULL)
		return CL_INVALID_CONTEXT;
	if (last)
		destroy(context);
	return below->clReleaseContext(handle);
}

static cl_int CL_API_CALL get_info(cl_context handle, cl_context_info what, size_t room, void *out, size_t *bytes_p)
{
	cl_device_id ids[16];

	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	cl_uint n = context != NULL ? context->n : 0;
	for (cl_uint i = 0; i < n; i++)
		ids[i] = (cl_device_id)context->devices[i];
	pthread_mutex_unlock(&model_lock);
	if (context == NULL)
		return CL_INVALID_CONTEXT;
	if (what == CL_CONTEXT_DEVICES)
		return answer(ids, n * sizeof *ids, room, out, bytes_p);
	if (what == CL_CONTEXT_NUM_DEVICES)
		return answer(&n, sizeof n, room, out, bytes_p);
	return below->clGetContextInfo(handle, what, room, out, bytes_p);
}

void context_install(struct _cl_icd_dispatch *mine)
{
	mine->clCreateContext = create;
	mine->clRetainContext = retain;
	mine->clReleaseContext = release;
	mine->clGetContextInfo = get_info;
}
