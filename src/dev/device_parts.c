/* SPDX-License-Identifier: MIT */
/* Parts of a device that the other files of this folder use once it is made. */
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

enum dev_list_way dev_list_way(const choir_device *device)
{
	return (enum dev_list_way)atomic_load_explicit(&device->list_way, memory_order_relaxed);
}

bool dev_list_way_try(choir_device *device)
{
	int untried = DEV_LIST_UNTRIED;

	return atomic_compare_exchange_strong(&device->list_way, &untried, DEV_LIST_TRYING);
}

void dev_list_way_set(choir_device *device, enum dev_list_way way)
{
	atomic_store_explicit(&device->list_way, way, memory_order_relaxed);
}

bool dev_is_cpu(const choir_device *device)
{
	return (device->facts.type & CL_DEVICE_TYPE_CPU) != 0;
}

bool dev_has_far_memory(const choir_device *device)
{
	return device->memory_class == CHOIR_CLASS_STAGE && !dev_is_cpu(device);
}

enum { QUICK_CALLBACK_US = 100 };

bool dev_has_quick_callbacks(const choir_device *device)
{
	return device->rates.measured && device->rates.callback_us < QUICK_CALLBACK_US;
}

enum {
	NOMINAL_COMMAND_BYTES = 64 * 1024, /* of a device that could not be measured */
	LEAST_COMMAND_BYTES = 4 * 1024,    /* chunks are not so short that their flags cost more */
	MOST_COMMAND_BYTES = 1024 * 1024,  /* a measurement that others held up */
	CPU_COMMAND_BYTES = 256 * 1024,    /* of a CPU in class stage: its commands take longer than their bytes say */
	CPU_SHORT_BYTES = 128 * 1024,
	LEAST_SHORT_BYTES = 64 * 1024,
	NOMINAL_US = 10,
	NOMINAL_GBPS = 6
};

uint64_t dev_command_bytes(const choir_device *device)
{
	const struct device_rates *r = &device->rates;
	double us = r->read_us > r->write_us ? r->read_us : r->write_us;
	double GBps = r->read_GBps < r->write_GBps ? r->read_GBps : r->write_GBps;
	double bytes = us * GBps * 1000;

	if (device->memory_class != CHOIR_CLASS_STAGE)
		return 0;
	if (dev_is_cpu(device))
		return CPU_COMMAND_BYTES;
	if (!r->measured || r->read_GBps <= 0 || r->write_GBps <= 0 || us <= 0)
		return NOMINAL_COMMAND_BYTES;
	return bytes < LEAST_COMMAND_BYTES  ? LEAST_COMMAND_BYTES
	       : bytes > MOST_COMMAND_BYTES ? MOST_COMMAND_BYTES
	                                    : (uint64_t)bytes;
}

/* One read and one write of b bytes take 2 (latency + b / rate).  In m chunks, the reads of some beside the writes of
 * others, it is m + 1 times (latency + b / m / rate): less from b = 2 latency rate on.  A CPU copies on the cores of
 * the ranks, one copy after another: there chunks pay since they are read to where the peers read them. */
uint64_t dev_short_bytes(const choir_device *device)
{
	uint64_t bytes = dev_has_far_memory(device) ? 2 * dev_command_bytes(device) : CPU_SHORT_BYTES;

	return bytes > LEAST_SHORT_BYTES ? bytes : LEAST_SHORT_BYTES;
}

double dev_bus_ns(const choir_device *device, uint64_t commands, uint64_t bytes)
{
	const struct device_rates *r = &device->rates;
	double us = r->read_us > r->write_us ? r->read_us : r->write_us;
	double GBps = r->pageable_read_GBps < r->pageable_write_GBps ? r->pageable_read_GBps : r->pageable_write_GBps;

	if (!r->measured || GBps <= 0 || us <= 0)
		us = NOMINAL_US, GBps = NOMINAL_GBPS;
	return (double)commands * us * 1000 + (double)bytes / GBps;
}

double dev_crossing_ns(const choir_device *device, bool write, uint64_t bytes)
{
	const struct device_rates *r = &device->rates;
	double us = write ? r->write_us : r->read_us, GBps = write ? r->write_GBps : r->read_GBps;

	if (!r->measured || GBps <= 0 || us <= 0)
		return 0;
	return us * 1000 + (double)bytes / GBps;
}

uint64_t dev_short_map_bytes(const choir_device *device)
{
	return device->short_map_bytes;
}

bool dev_has_fp64(const choir_device *device)
{
	return device->facts.fp64;
}

bool dev_divides_exactly(const choir_device *device)
{
	return device->facts.exact_division || device->facts.fp64; /* see division_options */
}

bool dev_keeps_denormals(const choir_device *device)
{
	return device->facts.denormals;
}

bool dev_has_long_loops(const choir_device *device)
{
	return device->facts.long_loops;
}

choir_reduce_where dev_reduce_where(const choir_device *device)
{
	return device->reduce;
}

unsigned dev_vector_width(const choir_device *device, size_t elem_bytes)
{
	unsigned i = (unsigned)__builtin_ctzll(elem_bytes);

	return i < VECTOR_WIDTHS && device->facts.vector_widths[i] > 1 ? device->facts.vector_widths[i] : 1;
}

size_t dev_max_group(const choir_device *device)
{
	return device->facts.max_group;
}

uint64_t dev_memory_bytes(const choir_device *device)
{
	return device->facts.memory_bytes;
}

uint64_t dev_most_buffer_bytes(const choir_device *device)
{
	return device->facts.max_buffer_bytes;
}

cl_uint dev_compute_units(const choir_device *device)
{
	return device->facts.compute_units;
}
