/* SPDX-License-Identifier: MIT */
/* The device of host memory alone: no context, no queue, no kernel.  Its facts keep other code from using one: it is a
 * CPU, so no buffer is staged; its largest buffer has 0 bytes, so no host memory is wrapped; its kernels cannot
 * loop. */
#include "dev/device_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void learn(struct device_facts *facts)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	*facts = (struct device_facts){ .type = CL_DEVICE_TYPE_CPU,
		                        .fp64 = true,
		                        .exact_division = true,
		                        .denormals = true,
		                        .host_unified = true,
		                        .cpus_only = true,
		                        .max_group = 1,
		                        .compute_units = cores > 0 ? (cl_uint)cores : 1,
		                        .memory_bytes = pages > 0 && page > 0 ? (cl_ulong)pages * (cl_ulong)page : 0,
		                        .direct_works = true };
	snprintf(facts->name, sizeof facts->name, "host memory");
	snprintf(facts->vendor, sizeof facts->vendor, "none");
	snprintf(facts->platform, sizeof facts->platform, "none");
	snprintf(facts->version, sizeof facts->version, "none");
	snprintf(facts->driver, sizeof facts->driver, "none");
}

choir_status choir_device_create_host(choir_device **out_p)
{
	if (out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_device_create_host: null out_p");

	choir_device *device = calloc(1, sizeof *device);
	if (device == NULL)
		return error_no_memory("a device", sizeof *device);
	atomic_init(&device->refs, 1);
	program_cache_init(&device->programs);
	device->memory_class = CHOIR_CLASS_DIRECT;
	device->reduce = CHOIR_REDUCE_HOST;
	learn(&device->facts);
	*out_p = device;
	return CHOIR_SUCCESS;
}

bool dev_is_host(const choir_device *device)
{
	return device->context == NULL;
}
