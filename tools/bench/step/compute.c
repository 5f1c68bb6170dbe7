/* SPDX-License-Identifier: MIT */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "compute.h"

#include "bench/ranks/clock.h"

#include <embedded.h>
#include <stdio.h>

/* More work is more groups, and more rounds of each where a launch has no more groups.  So the time goes by items, as
 * that of the tests' model GPU does, which takes little of the CPU's for each. */
enum { GROUP = 64, ROUNDS = 64, MOST_GROUPS = 65535, TRIALS = 3, CALIBRATE_US = 20000 };
#define MOST_ROUNDS ((double)MOST_GROUPS * (1 << 30))

static bool enqueue_rounds(struct compute *compute, double rounds)
{
	double of_group = rounds > (double)MOST_GROUPS * ROUNDS ? rounds / MOST_GROUPS : ROUNDS;
	size_t group = GROUP, groups = (size_t)(rounds / of_group), items;
	cl_uint each = (cl_uint)of_group;

	groups = groups < 1 ? 1 : groups;
	items = groups * GROUP;
	return clSetKernelArg(compute->kernel, 0, sizeof compute->out, &compute->out) == CL_SUCCESS &&
	       clSetKernelArg(compute->kernel, 1, sizeof each, &each) == CL_SUCCESS &&
	       clEnqueueNDRangeKernel(compute->queue, compute->kernel, 1, NULL, &items, &group, 0, NULL, NULL) ==
	           CL_SUCCESS;
}

/* The slowest rank's best of a few; below 0 if it failed somewhere. */
static double time_rounds(struct compute *compute, struct world *world, double rounds)
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
	double rounds = ROUNDS, us, launch_us;

	time_rounds(compute, world, ROUNDS); /* the driver's own first time */
	launch_us = time_rounds(compute, world, ROUNDS);
	for (us = 0; us >= 0 && us < CALIBRATE_US && rounds < MOST_ROUNDS; us = time_rounds(compute, world, rounds))
		rounds *= 2;
	compute->rounds_per_us = us > launch_us ? rounds / (us - launch_us) : 0;
	return launch_us >= 0 && us >= 0 && compute->rounds_per_us > 0;
}

static bool build(struct compute *compute, choir_device *device)
{
	const char *source = embedded_source("compute.cl");
	cl_device_id id = choir_device_id(device);
	cl_context context = choir_device_context(device);
	cl_int rc;

	compute->queue = clCreateCommandQueue(context, id, 0, &rc);
	if (rc == CL_SUCCESS)
		compute->out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_float), NULL, &rc);
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

	return enqueue_rounds(compute, rounds < ROUNDS ? ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds);
}
