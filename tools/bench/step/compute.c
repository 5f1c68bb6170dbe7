/* SPDX-License-Identifier: MIT */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "compute.h"

#include "bench/ranks/clock.h"

#include <embedded.h>
#include <stdio.h>

enum { GROUP = 64, TRIALS = 3, CALIBRATE_US = 20000, MAX_ROUNDS = 1 << 30 };

static bool enqueue_rounds(struct compute *compute, cl_uint rounds)
{
	size_t group = GROUP;

	return clSetKernelArg(compute->kernel, 0, sizeof compute->out, &compute->out) == CL_SUCCESS &&
	       clSetKernelArg(compute->kernel, 1, sizeof rounds, &rounds) == CL_SUCCESS &&
	       clEnqueueNDRangeKernel(compute->queue, compute->kernel, 1, NULL, &compute->items, &group, 0, NULL,
	                              NULL) == CL_SUCCESS;
}

/* The slowest rank's best of a few; below 0 if it failed somewhere. */
static double time_rounds(struct compute *compute, struct world *world, cl_uint rounds)
{
	double best = 1e30;

	for (int i = 0; i < TRIALS; i++) {
		double start, us;
		bool done;

		world_barrier(world);
		start = clock_us();
		done = enqueue_rounds(compute, rounds) && clFinish(compute->queue) == CL_SUCCESS;
		us = clock_us() - start;
		if (world_max_int(world, !done) == 1)
			return -1;
		best = us < best ? us : best;
	}
	world_max(world, &best, 1);
	return best;
}

static bool calibrate(struct compute *compute, struct world *world)
{
	cl_uint rounds = 1024;
	double us, launch_us;

	time_rounds(compute, world, 1); /* the driver's own first time */
	launch_us = time_rounds(compute, world, 1);
	for (us = 0; us >= 0 && us < CALIBRATE_US && rounds < MAX_ROUNDS; us = time_rounds(compute, world, rounds))
		rounds *= 2;
	compute->rounds_per_us = us > launch_us ? rounds / (us - launch_us) : 0;
	return launch_us >= 0 && us >= 0 && compute->rounds_per_us > 0;
}

static bool build(struct compute *compute, choir_device *device)
{
	const char *source = embedded_source("compute.cl");
	cl_device_id id = choir_device_id(device);
	cl_context context = choir_device_context(device);
	cl_uint units = 1;
	cl_int rc;

	clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
	compute->items = (size_t)units * GROUP;
	compute->queue = clCreateCommandQueue(context, id, 0, &rc);
	if (rc == CL_SUCCESS)
		compute->out = clCreateBuffer(context, CL_MEM_READ_WRITE, compute->items * sizeof(cl_float), NULL, &rc);
	if (rc == CL_SUCCESS)
		compute->program = clCreateProgramWithSource(context, 1, &source, NULL, &rc);
	if (rc == CL_SUCCESS)
		rc = clBuildProgram(compute->program, 1, &id, "-cl-std=CL1.2", NULL, NULL);
	if (rc == CL_SUCCESS)
		compute->kernel = clCreateKernel(compute->program, "work", &rc);
	if (rc != CL_SUCCESS)
		fprintf(stderr, "choir-bench: the compute kernel cannot be built: OpenCL error %d\n", rc);
	return rc == CL_SUCCESS;
}

bool compute_open(struct compute *compute, struct world *world, choir_device *device)
{
	*compute = (struct compute){ .queue = NULL };
	if (world_max_int(world, !build(compute, device)) == 0 && calibrate(compute, world))
		return true;
	compute_close(compute);
	return false;
}

void compute_close(struct compute *compute)
{
	if (compute->queue != NULL)
		clFinish(compute->queue);
	if (compute->kernel != NULL)
		clReleaseKernel(compute->kernel);
	if (compute->program != NULL)
		clReleaseProgram(compute->program);
	if (compute->out != NULL)
		clReleaseMemObject(compute->out);
	if (compute->queue != NULL)
		clReleaseCommandQueue(compute->queue);
	*compute = (struct compute){ .queue = NULL };
}

bool compute_enqueue(struct compute *compute, double us)
{
	double rounds = us * compute->rounds_per_us; /* its launch overlaps the kernel before it */

	return enqueue_rounds(compute, rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : (cl_uint)rounds);
}
