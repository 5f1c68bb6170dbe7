/* SPDX-License-Identifier: MIT */
#include "dev/launch.h"

#include "base/arithmetic.h"
#include "dev/device_impl.h"

#include <stdio.h>

/* A CPU reads the counts twice from first to last, a GPU a block of them at a time, all items side by side. */
enum { SCAN_CPU_GROUP = 64, SCAN_GPU_GROUP = 256, SCAN_GPU_EACH = 8 };

/* In parts of that many groups at most: a driver may drop what is beyond. */
choir_status dev_launch(choir_device *device, cl_kernel kernel, size_t global, size_t local, cl_event *event_p)
{
	size_t most = local > 0 ? LAUNCH_GROUPS * local : SIZE_MAX, at = 0;

	do {
		size_t part = global - at < most ? global - at : most;
		cl_int rc =
		    clEnqueueNDRangeKernel(device->queue, kernel, 1, at > 0 ? &at : NULL, &part,
		                           local > 0 ? &local : NULL, 0, NULL, at + part == global ? event_p : NULL);

		if (rc != CL_SUCCESS)
			return error_cl("clEnqueueNDRangeKernel", rc);
		at += part;
	} while (at < global);
	if (event_p != NULL)
		clFlush(device->queue);
	return CHOIR_SUCCESS;
}

choir_status launch_run(choir_device *device, const struct launch *launch, cl_event *event_p)
{
	cl_kernel kernel;
	choir_status st = CHOIR_SUCCESS;

	TRY(dev_kernel_take(device, launch->source, launch->options, launch->kernel, &kernel));
	for (size_t i = 0; i < launch->n_args && st == CHOIR_SUCCESS; i++) {
		cl_int rc = clSetKernelArg(kernel, (cl_uint)i, launch->args[i].bytes, launch->args[i].value);

		if (rc != CL_SUCCESS)
			st = error_cl("clSetKernelArg", rc);
	}
	if (st == CHOIR_SUCCESS)
		st = dev_launch(device, kernel, launch->global, launch->local, event_p);
	dev_kernel_give(device, launch->source, launch->options, launch->kernel, kernel);
	return st;
}

static size_t power_within(size_t wanted, size_t most)
{
	while (wanted > most && wanted > 1)
		wanted /= 2;
	return wanted;
}

size_t launch_group(const choir_device *device, size_t wanted)
{
	return power_within(wanted, dev_max_group(device));
}

size_t launch_kernel_group(const choir_device *device, cl_kernel kernel, size_t wanted)
{
	size_t most = 1;

	clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
	return power_within(launch_group(device, wanted), most);
}

choir_status launch_scan(choir_device *device, cl_mem counts, cl_uint n, cl_mem total)
{
	bool cpu = dev_is_cpu(device);
	size_t group = launch_group(device, cpu ? SCAN_CPU_GROUP : SCAN_GPU_GROUP);
	cl_uint each = cpu ? (cl_uint)((n + group - 1) / group) : SCAN_GPU_EACH;
	struct launch_arg args[] = { LAUNCH_ARG(counts), LAUNCH_ARG(n), LAUNCH_ARG(each), LAUNCH_ARG(total) };
	char options[32];
	struct launch launch = { .source = "scan.cl",
		                 .options = options,
		                 .kernel = "scan_group",
		                 .args = args,
		                 .n_args = sizeof args / sizeof *args,
		                 .global = group,
		                 .local = group };

	snprintf(options, sizeof options, "-DGROUP=%zu", group);
	return launch_run(device, &launch, NULL);
}

struct launch_shape launch_shape_within(const choir_device *device, uint64_t n, uint64_t most_groups)
{
	struct launch_shape shape = dev_is_cpu(device)
	                                ? (struct launch_shape){ .group = 1, .span = 1024 }
	                                : (struct launch_shape){ .group = launch_group(device, 64), .span = 4 };

	while (n / shape.group / shape.span >= most_groups)
		shape.span *= 4; /* few values, since each is a program of its own */
	return shape;
}

struct launch_shape launch_shape_of(const choir_device *device, uint64_t n)
{
	return launch_shape_within(device, n, LAUNCH_GROUPS);
}

size_t launch_elements(struct launch_shape shape, uint64_t n)
{
	uint64_t block = (uint64_t)shape.group * shape.span;

	return (size_t)((n + block - 1) / block * shape.group);
}

size_t launch_spans(const choir_device *device, size_t step, uint64_t n, uint64_t *span_p)
{
	/* A CPU wants a few long spans a core, a GPU many short ones; but the counts of all of them are scanned. */
	bool cpu = dev_is_cpu(device);
	uint64_t least = cpu ? 2048 : step, most = (uint64_t)dev_compute_units(device) * (cpu ? 4 : 16),
		 groups = (n + least - 1) / least;

	groups = min_u64(groups, min_u64(most, LAUNCH_GROUPS));
	*span_p = round_up((n + groups - 1) / groups, step);
	return (size_t)((n + *span_p - 1) / *span_p);
}
