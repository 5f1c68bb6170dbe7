/* SPDX-License-Identifier: MIT */
/* A pipeline without a host wait: for each of ten buffers, kernel A on one queue, an allreduce that starts when A's
 * event completes, kernel B on another queue that waits for the allreduce.  Everything is handed over at once; only the
 * end is waited for.
 *
 * mpiexec -n 2 ./pipeline */
#define CL_TARGET_OPENCL_VERSION 120
#include <choir/choir.h>
#include <choir/mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 10
#define COUNT ((size_t)1 << 16)

static const char source[] =
    "__kernel void a(__global float *x, float from) { size_t i = get_global_id(0); x[i] = from + (i & 255); }\n"
    "__kernel void b(__global float *x) { x[get_global_id(0)] *= 2; }\n";

static void choir_ok(choir_status status, const char *what)
{
	if (status != CHOIR_SUCCESS) {
		fprintf(stderr, "%s: %s\n", what, choir_last_error());
		exit(1);
	}
}

static void cl_ok(cl_int rc, const char *what)
{
	if (rc != CL_SUCCESS) {
		fprintf(stderr, "%s: OpenCL error %d\n", what, rc);
		exit(1);
	}
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
	cl_int rc;
	cl_kernel kernel = clCreateKernel(program, name, &rc);
	cl_ok(rc, name);
	return kernel;
}

/* Elements that are not what the three stages make of them: 2 * sum over ranks of (rank + i + k mod 256). */
static size_t count_wrong(const float *x, int i, int n_ranks)
{
	size_t wrong = 0;
	for (size_t k = 0; k < COUNT; k++)
		wrong += x[k] != 2.0f * (n_ranks * (n_ranks - 1) / 2 + n_ranks * (i + (int)(k & 255)));
	return wrong;
}

int main(void)
{
	choir_device *device;
	choir_comm *comm;
	choir_ok(choir_device_create_default(0, &device), "device");
	choir_ok(choir_comm_create_world(1, &device, NULL, &comm), "comm");
	int rank = choir_comm_rank(comm), n_ranks = choir_comm_size(comm);

	cl_int rc;
	cl_context context = choir_device_context(device);
	cl_device_id id = choir_device_id(device);
	const char *text = source;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	cl_ok(rc, "clCreateProgramWithSource");
	cl_ok(clBuildProgram(program, 1, &id, "", NULL, NULL), "clBuildProgram");
	cl_kernel a = kernel_of(program, "a"), b = kernel_of(program, "b");
	cl_command_queue queue_a = clCreateCommandQueue(context, id, 0, &rc);
	cl_ok(rc, "clCreateCommandQueue");
	cl_command_queue queue_b = clCreateCommandQueue(context, id, 0, &rc);
	cl_ok(rc, "clCreateCommandQueue");

	cl_mem mem[DEPTH];
	choir_event *sums[DEPTH];
	for (int i = 0; i < DEPTH; i++) {
		mem[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(float), NULL, &rc);
		cl_ok(rc, "clCreateBuffer");
	}

	/* First A and the collectives of all buffers, so that no collective stands behind a wait. */
	for (int i = 0; i < DEPTH; i++) {
		cl_event filled;
		float from = (float)(rank + i);
		cl_ok(clSetKernelArg(a, 0, sizeof(mem[i]), &mem[i]), "clSetKernelArg");
		cl_ok(clSetKernelArg(a, 1, sizeof(from), &from), "clSetKernelArg");
		cl_ok(clEnqueueNDRangeKernel(queue_a, a, 1, NULL, &(size_t){ COUNT }, NULL, 0, NULL, &filled),
		      "kernel a");

		choir_call call = CHOIR_CALL_INIT;
		call.cl_deps = &filled;
		call.n_cl_deps = 1;
		choir_buffer buffer = choir_mem(mem[i], 0);
		choir_ok(choir_allreduce(comm, buffer, buffer, COUNT, CHOIR_F32, CHOIR_OP_SUM, &call, &sums[i]),
		         "choir_allreduce");
		clReleaseEvent(filled); /* the collective holds its own reference */
	}
	cl_ok(clFlush(queue_a), "clFlush");

	/* Then B, each behind its collective. */
	for (int i = 0; i < DEPTH; i++) {
		choir_ok(choir_queue_wait(queue_b, 1, &sums[i]), "choir_queue_wait");
		cl_ok(clSetKernelArg(b, 0, sizeof(mem[i]), &mem[i]), "clSetKernelArg");
		cl_ok(clEnqueueNDRangeKernel(queue_b, b, 1, NULL, &(size_t){ COUNT }, NULL, 0, NULL, NULL), "kernel b");
	}

	/* The end.  A failed collective lets its queue go on too, so its own status has to be asked for. */
	size_t wrong = 0;
	float *x = malloc(COUNT * sizeof(*x));
	if (!x)
		return 1;
	cl_ok(clFinish(queue_b), "clFinish");
	for (int i = 0; i < DEPTH; i++) {
		choir_ok(choir_event_status(sums[i]), "the collective");
		choir_event_release(sums[i]);
		cl_ok(clEnqueueReadBuffer(queue_b, mem[i], CL_TRUE, 0, COUNT * sizeof(*x), x, 0, NULL, NULL),
		      "clEnqueueReadBuffer");
		wrong += count_wrong(x, i, n_ranks);
		clReleaseMemObject(mem[i]);
	}
	printf("rank %d of %d: %d buffers of %zu elements, %zu wrong\n", rank, n_ranks, DEPTH, COUNT, wrong);

	free(x);
	clReleaseCommandQueue(queue_a);
	clReleaseCommandQueue(queue_b);
	clReleaseKernel(a);
	clReleaseKernel(b);
	clReleaseProgram(program);
	choir_ok(choir_comm_destroy(comm), "choir_comm_destroy");
	choir_device_destroy(device);
	choir_ok(choir_finalize_world(), "choir_finalize_world");
	return wrong != 0;
}
