/* SPDX-License-Identifier: MIT */
/* What the model reports of shared virtual memory, and of unified shared memory. */
#include "planted.h"

#include <CL/cl_ext.h>

static unsigned char host[BYTES];

/* Shared virtual memory is freed while a copy from it is under way. */
void svm_freed(struct session *s, bool fault)
{
	void *ptr = clSVMAlloc(s->context, CL_MEM_READ_WRITE, BYTES, 0);
	cl_event gate = clCreateUserEvent(s->context, NULL), copied;

	OK(clEnqueueSVMMemcpy(s->queues[0], CL_FALSE, host, ptr, BYTES, 0, NULL, &copied));
	OK(clFlush(s->queues[0]));
	OK(clSetUserEventStatus(gate, CL_COMPLETE));
	planted_look(copied, CL_RUNNING);
	if (!fault)
		OK(clWaitForEvents(1, &copied));
	clSVMFree(s->context, ptr);
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(copied));
	OK(clReleaseEvent(gate));
}

/* The same while a read of a buffer fills its map. */
void svm_map_freed(struct session *s, bool fault)
{
	void *ptr = clSVMAlloc(s->context, CL_MEM_READ_WRITE, BYTES, 0);
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_event filled;

	OK(clEnqueueSVMMap(s->queues[0], CL_TRUE, CL_MAP_WRITE, ptr, BYTES, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, ptr, 0, NULL, &filled));
	OK(clFlush(s->queues[0]));
	planted_look(filled, CL_RUNNING);
	if (!fault)
		OK(clWaitForEvents(1, &filled));
	clSVMFree(s->context, ptr);
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(filled));
	OK(clReleaseMemObject(mem));
}

void svm_freed_twice(struct session *s, bool fault)
{
	void *ptr = clSVMAlloc(s->context, CL_MEM_READ_WRITE, BYTES, 0);

	clSVMFree(s->context, ptr);
	if (fault)
		clSVMFree(s->context, ptr);
}

/* The device's memory is freed while a copy from it is under way. */
void usm_freed(struct session *s, bool fault)
{
	clDeviceMemAllocINTEL_fn alloc;
	clEnqueueMemcpyINTEL_fn copy;
	clMemFreeINTEL_fn give;
	cl_event copied;
	cl_int rc;

	session_function(s, "clDeviceMemAllocINTEL", &alloc);
	session_function(s, "clEnqueueMemcpyINTEL", &copy);
	session_function(s, "clMemFreeINTEL", &give);
	void *ptr = alloc(s->context, s->devices[0], NULL, BYTES, 0, &rc);
	OK(rc);
	OK(copy(s->queues[0], CL_FALSE, host, ptr, BYTES, 0, NULL, &copied));
	OK(clFlush(s->queues[0]));
	planted_look(copied, CL_RUNNING);
	if (!fault)
		OK(clWaitForEvents(1, &copied));
	OK(give(s->context, ptr));
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(copied));
}

void usm_freed_twice(struct session *s, bool fault)
{
	clHostMemAllocINTEL_fn alloc;
	clMemFreeINTEL_fn give;
	cl_int rc;

	session_function(s, "clHostMemAllocINTEL", &alloc);
	session_function(s, "clMemFreeINTEL", &give);
	void *ptr = alloc(s->context, NULL, BYTES, 0, &rc);
	OK(rc);
	OK(give(s->context, ptr));
	if (fault)
		give(s->context, ptr);
}

/* A copy of shared virtual memory blocks. */
void svm_blocks(struct session *s, bool fault)
{
	void *ptr = clSVMAlloc(s->context, CL_MEM_READ_WRITE, BYTES, 0);

	OK(clEnqueueSVMMemcpy(s->queues[0], fault, ptr, host, BYTES, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	clSVMFree(s->context, ptr);
}

/* An argument is a pointer first, then a cl_mem. */
void svm_argument(struct session *s, bool fault)
{
	void *ptr = clSVMAlloc(s->context, CL_MEM_READ_WRITE, BYTES, 0);
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_kernel kernel = session_kernel(s, planted_source, "add");
	size_t items = 1;
	cl_int rc;

	OK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	if (fault)
		OK(clSetKernelArgSVMPointer(kernel, 1, ptr));
	OK(clSetKernelArg(kernel, 1, sizeof mem, &mem));
	rc = clEnqueueNDRangeKernel(s->queues[0], kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	HOLDS(rc == (fault ? CL_INVALID_KERNEL_ARGS : CL_SUCCESS));
	OK(clFinish(s->queues[0]));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(mem));
	clSVMFree(s->context, ptr);
}
