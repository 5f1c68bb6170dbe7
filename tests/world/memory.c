/* SPDX-License-Identifier: MIT */
#include "world/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t whole(const struct memory *memory)
{
	return memory->offset + memory->bytes + SENTINEL_BYTES;
}

bool memory_make(struct memory *memory, choir_device *device, bool on_device, size_t bytes, size_t shift)
{
	cl_int rc = CL_SUCCESS;

	*memory = (struct memory){ .device = on_device, .bytes = bytes, .offset = SENTINEL_BYTES + shift };
	memory->host = malloc(whole(memory));
	memset(memory->host, SENTINEL, whole(memory));
	memory->buffer = choir_host(memory->host + memory->offset);
	if (!on_device)
		return true;
	memory->queue = clCreateCommandQueueWithProperties(choir_device_context(device), choir_device_id(device), NULL, &rc);
	if (rc == CL_SUCCESS)
		memory->mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, whole(memory), NULL, &rc);
	memory->buffer = choir_mem(memory->mem, memory->offset);
	memory_push(memory);
	return rc == CL_SUCCESS;
}

void memory_free(struct memory *memory)
{
	if (memory->mem != NULL)
		clReleaseMemObject(memory->mem);
	if (memory->queue != NULL)
		clReleaseCommandQueue(memory->queue);
	free(memory->host);
}

unsigned char *memory_payload(struct memory *memory)
{
	return memory->host + memory->offset;
}

void memory_push(struct memory *memory)
{
	if (!memory->device)
		return;
	clEnqueueWriteBuffer(memory->queue, memory->mem, CL_TRUE, 0, whole(memory), memory->host, 0, NULL, NULL);
	clFinish(memory->queue); /* Intel's CPU runtime returns from small blocking writes before other threads see the bytes */
}

void memory_pull(struct memory *memory)
{
	if (memory->device)
		clEnqueueReadBuffer(memory->queue, memory->mem, CL_TRUE, 0, whole(memory), memory->host, 0, NULL, NULL);
}

bool memory_sentinels_stand(const struct memory *memory)
{
	for (size_t i = 0; i < memory->offset; i++)
		if (memory->host[i] != SENTINEL)
			return false;
	for (size_t i = memory->offset + memory->bytes; i < whole(memory); i++)
		if (memory->host[i] != SENTINEL)
			return false;
	return true;
}
