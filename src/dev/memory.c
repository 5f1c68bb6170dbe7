/* SPDX-License-Identifier: MIT */
/* The library's host memory, pinned or wrapped as a cl_mem, and its device memory. */
#include "base/arithmetic.h"
#include "dev/device_impl.h"

#include <stdlib.h>

#define PAGE_BYTES 4096
#define LINE_BYTES 64
#define KEPT_PART  64 /* of a device's memory, and at most */
#define KEPT_BYTES (UINT64_C(256) << 20)

/* CL_MEM_ALLOC_HOST_PTR memory, mapped until it is freed: drivers copy to and from it without a bounce buffer. */
static choir_status pinned_create(choir_device *device, uint64_t bytes, struct dev_memory *out)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &rc);

	if (rc != CL_SUCCESS)
		return error_cl("clCreateBuffer (pinned)", rc);
	void *ptr =
	    clEnqueueMapBuffer(device->queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &rc);
	if (rc != CL_SUCCESS) {
		clReleaseMemObject(mem);
		return error_cl("clEnqueueMapBuffer (pinned)", rc);
	}
	*out = (struct dev_memory){ .ptr = ptr, .bytes = bytes, .pinned = mem };
	return CHOIR_SUCCESS;
}

choir_status dev_memory_create(choir_device *device, uint64_t bytes, struct dev_memory *out)
{
	struct dev_memory memory;
	uint64_t size = round_up(bytes > 0 ? bytes : 1, PAGE_BYTES);
	void *ptr;

	if (bytes > SIZE_MAX - PAGE_BYTES)
		return error_no_memory("host memory", SIZE_MAX);
	if (device->memory_class == CHOIR_CLASS_STAGE && pinned_create(device, size, out) == CHOIR_SUCCESS) {
		out->bytes = bytes;
		return CHOIR_SUCCESS;
	}
	if (posix_memalign(&ptr, PAGE_BYTES, size) != 0)
		return error_no_memory("host memory", size);
	choir_status st = dev_memory_wrap(device, ptr, size, &memory);
	if (st != CHOIR_SUCCESS) {
		free(ptr);
		return st;
	}
	memory.bytes = bytes;
	memory.foreign = false;
	*out = memory;
	return CHOIR_SUCCESS;
}

choir_status dev_memory_wrap(choir_device *device, void *ptr, uint64_t bytes, struct dev_memory *out)
{
	struct dev_memory memory = { .ptr = ptr, .bytes = bytes, .foreign = true };
	cl_int rc;

	if (dev_is_cpu(device) && bytes > 0 && (uintptr_t)ptr % PAGE_BYTES == 0 && bytes % LINE_BYTES == 0 &&
	    bytes <= device->facts.max_buffer_bytes) {
		memory.mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, ptr, &rc);
		if (rc != CL_SUCCESS)
			return error_cl("clCreateBuffer (over host memory)", rc);
	}
	*out = memory;
	return CHOIR_SUCCESS;
}

void dev_memory_pin(choir_device *device, void *ptr, uint64_t bytes, cl_mem *mem_p)
{
	cl_int rc;

	*mem_p = NULL;
	if (!dev_has_far_memory(device) || bytes > device->facts.max_buffer_bytes)
		return;
	cl_mem mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, ptr, &rc);
	if (rc == CL_SUCCESS)
		*mem_p = mem;
}

void dev_memory_free(choir_device *device, struct dev_memory *memory)
{
	if (memory->mem != NULL)
		clReleaseMemObject(memory->mem);
	if (memory->pinned != NULL) {
		if (clEnqueueUnmapMemObject(device->queue, memory->pinned, memory->ptr, 0, NULL, NULL) == CL_SUCCESS)
			clFinish(device->queue);
		clReleaseMemObject(memory->pinned);
	} else if (!memory->foreign) {
		free(memory->ptr);
	}
	*memory = (struct dev_memory){ .ptr = NULL };
}

static bool drop_one(choir_device *device)
{
	cl_mem mem = keep_drop(&device->buffers);

	dev_buffer_free(mem);
	return mem != NULL;
}

void buffers_init(choir_device *device)
{
	uint64_t most = device->facts.memory_bytes / KEPT_PART;

	keep_init(&device->buffers, most < KEPT_BYTES ? most : KEPT_BYTES);
}

void buffers_free(choir_device *device)
{
	while (drop_one(device))
		continue;
}

/* Where memory is short, kept buffers are freed first, one after the other. */
choir_status dev_buffer_create(choir_device *device, uint64_t bytes, cl_mem *out_p)
{
	choir_status st;

	do {
		cl_int rc;

		*out_p = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes > 0 ? bytes : 1, NULL, &rc);
		st = rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clCreateBuffer", rc);
	} while (st == CHOIR_NO_MEMORY && drop_one(device));
	return st;
}

choir_status dev_buffer_take(choir_device *device, uint64_t bytes, struct dev_buffer *out)
{
	uint64_t rounded = keep_rounded(bytes);
	struct keep_block found;

	if (keep_take(&device->buffers, bytes, &found)) {
		*out = (struct dev_buffer){ found.ptr, found.bytes };
		dev_buffer_place(device, out->mem);
		return CHOIR_SUCCESS;
	}
	*out = (struct dev_buffer){ .bytes = rounded <= device->facts.max_buffer_bytes ? rounded : bytes };
	return dev_buffer_create(device, out->bytes, &out->mem);
}

void dev_buffer_give(choir_device *device, struct dev_buffer *buffer)
{
	if (buffer->mem != NULL)
		dev_buffer_free(
		    keep_give(&device->buffers, (struct keep_block){ .ptr = buffer->mem, .bytes = buffer->bytes }));
	*buffer = (struct dev_buffer){ 0 };
}

void dev_buffer_place(choir_device *device, cl_mem mem)
{
	if (!device->facts.alone &&
	    clEnqueueMigrateMemObjects(device->queue, 1, &mem, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL,
	                               NULL) == CL_SUCCESS)
		clFlush(device->queue);
}

void dev_buffer_free(cl_mem mem)
{
	if (mem != NULL)
		clReleaseMemObject(mem);
}

struct dev_access dev_buffer_access(cl_mem mem, uint64_t off, uint64_t bytes)
{
	return (struct dev_access){ .mem = mem, .off = off, .bytes = bytes, .stage = true, .write = true };
}
