/* SPDX-License-Identifier: MIT */
/* What the model reports of shared virtual memory. */
#include "planted.h"

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

	OK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	if (fault)
		OK(clSetKernelArgSVMPointer(kernel, 1, ptr));
	OK(clSetKernelArg(kernel, 1, sizeof mem, &mem));
	OK(clEnqueueNDRangeKernel(s->queues[0], kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(mem));
	clSVMFree(s->context, ptr);
}
