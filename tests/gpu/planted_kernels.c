/* SPDX-License-Identifier: MIT */
/* What the model reports of kernels. */
#include "planted.h"

static unsigned char other[BYTES];

/* A kernel writes what a read of another queue takes; what it only reads may be read. */
void kernel_races(struct session *s, bool fault)
{
	cl_mem to = session_buffer(s, CL_MEM_READ_WRITE, BYTES), from = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_kernel kernel = session_kernel(s, planted_source, "add");
	size_t items = BYTES / 4, group = 64;

	OK(clSetKernelArg(kernel, 0, sizeof to, &to));
	OK(clSetKernelArg(kernel, 1, sizeof from, &from));
	OK(clEnqueueNDRangeKernel(s->queues[0], kernel, 1, NULL, &items, &group, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(s->queues[1], fault ? to : from, CL_TRUE, 0, BYTES, other, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(to));
	OK(clReleaseMemObject(from));
}

enum { ARGUMENTS = 41 };

/* kernel void many(global const int *a0, ..., global int *a40) */
static const char *source_of_many(void)
{
	static char text[2000];
	size_t at = (size_t)sprintf(text, "kernel void many(");

	for (int i = 0; i < ARGUMENTS; i++)
		at += (size_t)sprintf(text + at, "%sglobal %sint *a%d", i > 0 ? ", " : "",
		                      i < ARGUMENTS - 1 ? "const " : "", i);
	sprintf(text + at, ") { *a%d = *a0; }", ARGUMENTS - 1);
	return text;
}

/* A kernel of many buffers writes to the last one. */
void many_arguments(struct session *s, bool fault)
{
	cl_mem to = session_buffer(s, CL_MEM_READ_WRITE, BYTES), from = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_kernel kernel = session_kernel(s, source_of_many(), "many");
	size_t one = 1;

	for (cl_uint i = 0; i < ARGUMENTS; i++)
		OK(clSetKernelArg(kernel, i, sizeof to, i < ARGUMENTS - 1 ? &from : &to));
	OK(clEnqueueNDRangeKernel(s->queues[0], kernel, 1, NULL, &one, &one, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(s->queues[1], fault ? to : from, CL_TRUE, 0, BYTES, other, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(to));
	OK(clReleaseMemObject(from));
}

/* A kernel's argument is released before the kernel is enqueued, or behind it. */
void released_argument(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_kernel kernel = session_kernel(s, planted_source, "add");
	size_t items = BYTES / 4, group = 64;

	OK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	OK(clSetKernelArg(kernel, 1, sizeof mem, &mem));
	if (fault)
		OK(clReleaseMemObject(mem));
	clEnqueueNDRangeKernel(s->queues[0], kernel, 1, NULL, &items, &group, 0, NULL, NULL);
	if (!fault)
		OK(clReleaseMemObject(mem));
	OK(clFinish(s->queues[0]));
	OK(clReleaseKernel(kernel));
}

/* 65 536 groups: of one item, or of a size that the driver chooses. */
static void launch_groups(struct session *s, bool fault, const size_t *group)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, 70000 * 4);
	cl_kernel kernel = session_kernel(s, planted_source, "add");
	size_t items = fault ? 65536 : 65535;

	OK(clSetKernelArg(kernel, 0, sizeof mem, &mem));
	OK(clSetKernelArg(kernel, 1, sizeof mem, &mem));
	OK(clEnqueueNDRangeKernel(s->queues[0], kernel, 1, NULL, &items, group, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseKernel(kernel));
	OK(clReleaseMemObject(mem));
}

void groups(struct session *s, bool fault)
{
	static const size_t one = 1;

	launch_groups(s, fault, &one);
}

void groups_chosen(struct session *s, bool fault)
{
	launch_groups(s, fault, NULL);
}
