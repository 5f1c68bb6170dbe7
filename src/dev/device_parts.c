/* SPDX-License-Identifier: MIT */
/* What the other files of the room ask of a device that is made. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: the newer call is absent from 1.2 platforms */
#include "dev/device_impl.h"

choir_status queue_create(choir_device *device, cl_command_queue *out_p)
{
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &rc);

	if (rc != CL_SUCCESS)
		return error_cl("clCreateCommandQueue", rc);
	*out_p = queue;
	return CHOIR_SUCCESS;
}

cl_command_queue dev_queue(choir_device *device)
{
	return device->queue;
}

bool dev_is_cpu(const choir_device *device)
{
	return (device->facts.type & CL_DEVICE_TYPE_CPU) != 0;
}

bool dev_has_far_memory(const choir_device *device)
{
	return device->memory_class == CHOIR_CLASS_STAGE && !dev_is_cpu(device);
}

bool dev_has_fp64(const choir_device *device)
{
	return device->facts.fp64;
}

bool dev_divides_exactly(const choir_device *device)
{
	return device->facts.exact_division || device->facts.fp64; /* see division_options */
}

bool dev_has_long_loops(const choir_device *device)
{
	return device->facts.long_loops;
}

choir_reduce_where dev_reduce_where(const choir_device *device)
{
	return device->reduce;
}

size_t dev_max_group(const choir_device *device)
{
	return device->facts.max_group;
}

cl_uint dev_compute_units(const choir_device *device)
{
	return device->facts.compute_units;
}
