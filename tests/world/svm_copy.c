/* SPDX-License-Identifier: MIT */
#include "world/svm_copy.h"

#include <pthread.h>

enum { MOST_ITEMS = 32768 }; /* so many groups, if the driver chooses groups of one */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_context context_of_kernels;
static cl_kernel kernels[2]; /* from SVM, to SVM */

void svm_copy_drop(void)
{
	for (int k = 0; k < 2; k++)
		if (kernels[k] != NULL)
			clReleaseKernel(kernels[k]);
	kernels[0] = kernels[1] = NULL;
	context_of_kernels = NULL;
}

/* With the lock held.  Two names, since NVIDIA's driver wants an argument to stay a pointer or a cl_mem. */
static cl_int make_kernels(cl_context context)
{
	static const char *text = "#define COPY(name) "
				  "__kernel void name(__global uchar *to, const __global uchar *from, ulong n) {"
				  " for (ulong i = get_global_id(0); i < n; i += get_global_size(0))"
				  " to[i] = from[i]; }\n"
				  "COPY(from_svm)\n"
				  "COPY(to_svm)\n";
	cl_int rc;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);

	if (rc != CL_SUCCESS)
		return rc;
	context_of_kernels = context;
	rc = clBuildProgram(program, 0, NULL, "", NULL, NULL);
	if (rc == CL_SUCCESS)
		kernels[0] = clCreateKernel(program, "from_svm", &rc);
	if (rc == CL_SUCCESS)
		kernels[1] = clCreateKernel(program, "to_svm", &rc);
	clReleaseProgram(program);
	return rc;
}

static cl_int launch(const struct memory *memory, bool pushes, size_t bytes, cl_mem second, cl_event *event_p)
{
	const cl_uint pointer_at = pushes ? 0 : 1, mem_at = 1 - pointer_at;
	cl_context context = choir_device_context(memory->owner);
	size_t items = bytes < MOST_ITEMS ? bytes : MOST_ITEMS;
	cl_ulong n = bytes;
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&lock);
	if (context_of_kernels != context) {
		svm_copy_drop();
		rc = make_kernels(context);
	}
	if (rc == CL_SUCCESS)
		rc = clSetKernelArgSVMPointer(kernels[pushes], pointer_at, memory->pointer);
	if (rc == CL_SUCCESS)
		rc = clSetKernelArg(kernels[pushes], mem_at, sizeof second, &second);
	if (rc == CL_SUCCESS)
		rc = clSetKernelArg(kernels[pushes], 2, sizeof n, &n);
	if (rc == CL_SUCCESS)
		rc = clEnqueueNDRangeKernel(memory->queue, kernels[pushes], 1, NULL, &items, NULL, 0, NULL, event_p);
	pthread_mutex_unlock(&lock);
	return rc;
}

cl_int svm_copy(const struct memory *memory, bool pushes, size_t bytes, cl_event *event_p)
{
	cl_device_type type = 0;
	cl_mem second;
	cl_int rc;

	rc = clGetDeviceInfo(choir_device_id(memory->owner), CL_DEVICE_TYPE, sizeof type, &type, NULL);
	if (rc != CL_SUCCESS)
		return rc;
	if ((type & CL_DEVICE_TYPE_CPU) != 0)
		return clEnqueueSVMMemcpy(memory->queue, CL_FALSE, pushes ? memory->pointer : memory->host,
		                          pushes ? memory->host : memory->pointer, bytes, 0, NULL, event_p);
	second = clCreateBuffer(choir_device_context(memory->owner), CL_MEM_READ_WRITE, bytes, NULL, &rc);
	if (rc != CL_SUCCESS)
		return rc;
	if (pushes)
		rc = clEnqueueWriteBuffer(memory->queue, second, CL_FALSE, 0, bytes, memory->host, 0, NULL, NULL);
	if (rc == CL_SUCCESS)
		rc = launch(memory, pushes, bytes, second, pushes ? event_p : NULL);
	if (rc == CL_SUCCESS && !pushes)
		rc = clEnqueueReadBuffer(memory->queue, second, CL_FALSE, 0, bytes, memory->host, 0, NULL, event_p);
	clReleaseMemObject(second);
	return rc;
}
