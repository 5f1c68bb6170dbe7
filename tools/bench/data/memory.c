/* SPDX-License-Identifier: MIT */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: the one call that every version has */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

void *memory_host(size_t bytes)
{
	size_t rounded = (bytes + 4095) / 4096 * 4096;
	void *p = aligned_alloc(4096, rounded);

	return p == NULL ? NULL : memset(p, 0, rounded);
}

static bool take_host(struct memory *memory)
{
	memory->host = memory_host(memory->bytes);
	return memory->host != NULL;
}

static void give_host(struct memory *memory)
{
	free(memory->host);
}

static bool take_device(struct memory *memory)
{
	cl_int rc;

	memory->mem =
	    clCreateBuffer(choir_device_context(memory->source->device), CL_MEM_READ_WRITE, memory->bytes, NULL, &rc);
	return rc == CL_SUCCESS;
}

static void give_device(struct memory *memory)
{
	clReleaseMemObject(memory->mem);
}

static bool take_symmetric(struct memory *memory)
{
	void *ptr;

	if (!memory->source->share(memory->source->ctx, memory->bytes, &ptr, NULL))
		return false;
	memory->host = ptr;
	return true;
}

static bool take_symmetric_device(struct memory *memory)
{
	void *ptr;

	if (!memory->source->share(memory->source->ctx, memory->bytes, &ptr, &memory->mem))
		return false;
	memory->host = ptr;
	return true;
}

static void give_symmetric(struct memory *memory)
{
	memory->source->unshare(memory->source->ctx, memory->host, memory->mem);
}

static const struct {
	bool (*take)(struct memory *memory);
	void (*give)(struct memory *memory);
} kinds[N_ARGS_MEMORY] = {
	[MEMORY_DEVICE] = { take_device, give_device },
	[MEMORY_HOST] = { take_host, give_host },
	[MEMORY_SYMMETRIC] = { take_symmetric, give_symmetric },
	[MEMORY_SYMMETRIC_DEVICE] = { take_symmetric_device, give_symmetric },
};

bool memory_init(struct memory *memory, const struct memory_source *source, size_t bytes)
{
	cl_int rc = CL_SUCCESS;

	*memory = (struct memory){ .source = source, .bytes = bytes };
	if (!kinds[source->kind].take(memory)) {
		*memory = (struct memory){ 0 };
		return false;
	}
	if (memory->mem != NULL)
		memory->queue =
		    clCreateCommandQueue(choir_device_context(source->device), choir_device_id(source->device), 0, &rc);
	if (rc == CL_SUCCESS)
		return true;
	memory_fini(memory);
	return false;
}

void memory_fini(struct memory *memory)
{
	if (memory->source == NULL)
		return;
	if (memory->queue != NULL)
		clReleaseCommandQueue(memory->queue);
	kinds[memory->source->kind].give(memory);
	*memory = (struct memory){ 0 };
}

/* "Blocking" means for a write only that `from` may be reused: Intel's runtime copies small ones aside and writes them
 * later.  The finish makes it so. */
bool memory_write(struct memory *memory, const void *from)
{
	if (memory->mem != NULL)
		return clEnqueueWriteBuffer(memory->queue, memory->mem, CL_TRUE, 0, memory->bytes, from, 0, NULL,
		                            NULL) == CL_SUCCESS &&
		       clFinish(memory->queue) == CL_SUCCESS;
	memcpy(memory->host, from, memory->bytes);
	return true;
}

bool memory_read(struct memory *memory, void *to)
{
	if (memory->mem != NULL)
		return clEnqueueReadBuffer(memory->queue, memory->mem, CL_TRUE, 0, memory->bytes, to, 0, NULL, NULL) ==
		       CL_SUCCESS;
	memcpy(to, memory->host, memory->bytes);
	return true;
}

choir_buffer memory_buffer(const struct memory *memory, size_t offset_bytes)
{
	return memory->mem != NULL ? choir_mem(memory->mem, offset_bytes) : choir_host(memory->host + offset_bytes);
}
