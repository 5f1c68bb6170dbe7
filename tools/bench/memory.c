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

bool memory_init(struct memory *memory, choir_device *device, enum args_memory kind, size_t bytes)
{
	cl_int rc;

	*memory = (struct memory){ .kind = kind, .bytes = bytes };
	if (kind == MEMORY_HOST) {
		memory->host = memory_host(bytes);
		return memory->host != NULL;
	}
	memory->queue = clCreateCommandQueue(choir_device_context(device), choir_device_id(device), 0, &rc);
	if (rc != CL_SUCCESS)
		return false;
	memory->mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, bytes, NULL, &rc);
	if (rc != CL_SUCCESS)
		clReleaseCommandQueue(memory->queue);
	return rc == CL_SUCCESS;
}

void memory_fini(struct memory *memory)
{
	free(memory->host);
	if (memory->mem != NULL) {
		clReleaseMemObject(memory->mem);
		clReleaseCommandQueue(memory->queue);
	}
	*memory = (struct memory){ 0 };
}

/* "Blocking" means for a write only that `from` may be reused: Intel's runtime copies small ones aside and writes them later.  The finish makes
 * it so. */
bool memory_write(struct memory *memory, const void *from)
{
	if (memory->kind == MEMORY_DEVICE)
		return clEnqueueWriteBuffer(memory->queue, memory->mem, CL_TRUE, 0, memory->bytes, from, 0, NULL, NULL) == CL_SUCCESS &&
		       clFinish(memory->queue) == CL_SUCCESS;
	memcpy(memory->host, from, memory->bytes);
	return true;
}

bool memory_read(struct memory *memory, void *to)
{
	if (memory->kind == MEMORY_DEVICE)
		return clEnqueueReadBuffer(memory->queue, memory->mem, CL_TRUE, 0, memory->bytes, to, 0, NULL, NULL) == CL_SUCCESS;
	memcpy(to, memory->host, memory->bytes);
	return true;
}

choir_buffer memory_buffer(const struct memory *memory, size_t offset_bytes)
{
	return memory->kind == MEMORY_DEVICE ? choir_mem(memory->mem, offset_bytes) : choir_host(memory->host + offset_bytes);
}
