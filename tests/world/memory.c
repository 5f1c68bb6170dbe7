/* SPDX-License-Identifier: MIT */
#include "world/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local struct {
	unsigned char *base;
	cl_mem mem;
	size_t bytes, skew, used;
	int live;
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static choir_device *queue_device;
static cl_command_queue the_queue;

static size_t whole(const struct memory *memory)
{
	return memory->offset + memory->bytes + SENTINEL_BYTES;
}

/* One for all: a driver's queue costs more than most of the calls that are tested. */
static cl_command_queue queue_of(choir_device *device)
{
	cl_command_queue queue;
	cl_int rc;

	pthread_mutex_lock(&lock);
	if (queue_device != device) {
		memory_drop();
		the_queue = clCreateCommandQueueWithProperties(choir_device_context(device), choir_device_id(device),
		                                               NULL, &rc);
		queue_device = device;
	}
	queue = the_queue;
	clRetainCommandQueue(queue);
	pthread_mutex_unlock(&lock);
	return queue;
}

void *memory_map_shared(size_t bytes)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	void *memory = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return memory != MAP_FAILED ? memory : NULL;
}

void memory_drop(void)
{
	if (the_queue != NULL)
		clReleaseCommandQueue(the_queue);
	the_queue = NULL;
	queue_device = NULL;
}

void memory_use(void *base, cl_mem mem, size_t bytes, size_t skew)
{
	region.base = base;
	region.mem = mem;
	region.bytes = bytes;
	region.skew = skew;
	region.used = 0;
	region.live = 0;
}

static bool lend(struct memory *memory, bool on_device)
{
	size_t at = (region.used + 63) / 64 * 64 + region.skew;

	if (at + whole(memory) > region.bytes)
		return false;
	region.used = at + whole(memory);
	region.live++;
	memory->lent = true;
	memory->host = region.base + at;
	memset(memory->host, SENTINEL, whole(memory));
	memory->buffer = on_device && region.mem != NULL ? choir_mem(region.mem, at + memory->offset)
	                                                 : choir_host(memory->host + memory->offset);
	return true;
}

bool memory_make(struct memory *memory, choir_device *device, bool on_device, size_t bytes, size_t shift)
{
	cl_int rc = CL_SUCCESS;

	*memory = (struct memory){ .device = on_device && region.base == NULL,
		                   .bytes = bytes,
		                   .offset = SENTINEL_BYTES + shift };
	if (region.base != NULL)
		return lend(memory, on_device);
	memory->host = malloc(whole(memory));
	memset(memory->host, SENTINEL, whole(memory));
	memory->buffer = choir_host(memory->host + memory->offset);
	if (!on_device)
		return true;
	memory->queue = queue_of(device);
	memory->mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, whole(memory), NULL, &rc);
	memory->buffer = choir_mem(memory->mem, memory->offset);
	memory_push(memory);
	return rc == CL_SUCCESS;
}

void memory_free(struct memory *memory)
{
	if (memory->lent) {
		if (--region.live == 0)
			region.used = 0;
		return;
	}
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

/* A blocking command may come back too early: Intel's CPU runtime returns from small writes before other threads see
 * the bytes, Mesa's rusticl 22.3 from reads while they are still under way.  The event is believed. */
static void complete(struct memory *memory, cl_int rc, cl_event event)
{
	cl_int status = CL_QUEUED;

	if (rc != CL_SUCCESS)
		return; /* what is compared then is wrong */
	clFlush(memory->queue);
	clWaitForEvents(1, &event);
	while (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS &&
	       status > CL_COMPLETE)
		sched_yield();
	clReleaseEvent(event);
}

void memory_push(struct memory *memory)
{
	cl_event event = NULL;
	cl_int rc;

	if (!memory->device)
		return;
	rc = clEnqueueWriteBuffer(memory->queue, memory->mem, CL_FALSE, 0, whole(memory), memory->host, 0, NULL,
	                          &event);
	complete(memory, rc, event);
}

void memory_pull(struct memory *memory)
{
	cl_event event = NULL;
	cl_int rc;

	if (!memory->device)
		return;
	rc = clEnqueueReadBuffer(memory->queue, memory->mem, CL_FALSE, 0, whole(memory), memory->host, 0, NULL, &event);
	complete(memory, rc, event);
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
