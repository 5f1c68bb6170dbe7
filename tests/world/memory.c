/* SPDX-License-Identifier: MIT */
#include "world/memory.h"

#include "world/svm_copy.h"
#include "world/svm_room.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
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

const char *const memory_kind_names[N_MEMORY_KINDS] = { "cl_mem",     "coarse SVM", "fine SVM",           "USM host",
	                                                "USM shared", "USM device", "one after the other" };

static enum memory_kind chosen;
static cl_mem_flags chosen_flags = CL_MEM_READ_WRITE;
static atomic_uint made; /* of MEMORY_MIXED */

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
	svm_copy_drop();
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

/* --- the kinds on the device --- */

void memory_choose(enum memory_kind kind)
{
	chosen = kind;
}

void memory_choose_flags(cl_mem_flags flags)
{
	chosen_flags = flags;
}

/* An address of cl_intel_unified_shared_memory, in *fn_p; false where the platform lacks it. */
static bool usm_function(choir_device *device, const char *name, void *fn_p)
{
	cl_platform_id platform;
	char extensions[16384] = "";
	void *fn;

	if (clGetDeviceInfo(choir_device_id(device), CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) !=
	        CL_SUCCESS ||
	    clGetDeviceInfo(choir_device_id(device), CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL) !=
	        CL_SUCCESS ||
	    strstr(extensions, "cl_intel_unified_shared_memory") == NULL)
		return false;
	fn = clGetExtensionFunctionAddressForPlatform(platform, name);
	memcpy(fn_p, &fn, sizeof fn);
	return fn != NULL;
}

static cl_bitfield device_bits(choir_device *device, cl_device_info what)
{
	cl_bitfield bits = 0;

	return clGetDeviceInfo(choir_device_id(device), what, sizeof bits, &bits, NULL) == CL_SUCCESS ? bits : 0;
}

const char *memory_lacks(choir_device *device, enum memory_kind kind)
{
	clMemFreeINTEL_fn usm_free;
	cl_bitfield svm;

	if (kind == MEMORY_MEM || kind == MEMORY_MIXED)
		return NULL;
	if (kind >= MEMORY_USM_HOST)
		return usm_function(device, "clMemFreeINTEL", &usm_free) ? NULL : "no cl_intel_unified_shared_memory";
	svm = device_bits(device, CL_DEVICE_SVM_CAPABILITIES);
	if (kind == MEMORY_SVM_FINE)
		return (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0 ? NULL : "no fine-grained SVM buffers";
	return svm != 0 ? NULL : "no SVM";
}

void memory_each(choir_device *device, void (*fn)(enum memory_kind kind))
{
	for (enum memory_kind kind = MEMORY_SVM_COARSE; kind < N_MEMORY_KINDS; kind++) {
		const char *reason = memory_lacks(device, kind);

		if (reason != NULL)
			printf("%s is skipped: the device has %s\n", memory_kind_names[kind], reason);
		memory_choose(kind);
		if (reason == NULL)
			fn(kind);
	}
	memory_choose(MEMORY_MEM);
}

static enum memory_kind next_kind(choir_device *device)
{
	enum memory_kind kind = chosen;

	while (chosen == MEMORY_MIXED &&
	       memory_lacks(device, kind = (enum memory_kind)(atomic_fetch_add(&made, 1) % MEMORY_MIXED)) != NULL)
		;
	return kind;
}

static void *allocate(choir_device *device, enum memory_kind kind, size_t bytes)
{
	cl_context context = choir_device_context(device);
	clHostMemAllocINTEL_fn host;
	clSharedMemAllocINTEL_fn shared;
	clDeviceMemAllocINTEL_fn far;
	cl_int rc;

	if (kind == MEMORY_SVM_COARSE)
		return svm_room_create(device, bytes);
	if (kind == MEMORY_SVM_FINE)
		return clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, bytes, 0);
	if (kind == MEMORY_USM_HOST)
		return usm_function(device, "clHostMemAllocINTEL", &host) ? host(context, NULL, bytes, 0, &rc) : NULL;
	if (kind == MEMORY_USM_SHARED)
		return usm_function(device, "clSharedMemAllocINTEL", &shared)
		           ? shared(context, choir_device_id(device), NULL, bytes, 0, &rc)
		           : NULL;
	return usm_function(device, "clDeviceMemAllocINTEL", &far)
	           ? far(context, choir_device_id(device), NULL, bytes, 0, &rc)
	           : NULL;
}

static void give_pointer(struct memory *memory)
{
	clMemFreeINTEL_fn usm_free;

	if (memory->kind == MEMORY_SVM_COARSE)
		svm_room_free(memory->owner, memory->pointer);
	else if (memory->kind == MEMORY_SVM_FINE)
		clSVMFree(choir_device_context(memory->owner), memory->pointer);
	else if (usm_function(memory->owner, "clMemFreeINTEL", &usm_free))
		usm_free(choir_device_context(memory->owner), memory->pointer);
}

static bool make_on_device(struct memory *memory, choir_device *device)
{
	cl_int rc = CL_SUCCESS;

	memory->kind = next_kind(device);
	memory->owner = device;
	memory->queue = queue_of(device);
	if (memory->kind == MEMORY_MEM) {
		memory->mem = clCreateBuffer(choir_device_context(device), chosen_flags, whole(memory), NULL, &rc);
		memory->buffer = choir_mem(memory->mem, memory->offset);
	} else {
		memory->pointer = allocate(device, memory->kind, whole(memory));
		/* a pointer into the allocation, and an offset from there */
		memory->buffer = memory->kind <= MEMORY_SVM_FINE ? choir_svm(memory->pointer + SENTINEL_BYTES)
		                                                 : choir_usm(memory->pointer + SENTINEL_BYTES);
		memory->buffer.offset_bytes = memory->offset - SENTINEL_BYTES;
		rc = memory->pointer != NULL ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
	}
	if (rc == CL_SUCCESS)
		memory_push(memory);
	return rc == CL_SUCCESS;
}

bool memory_make(struct memory *memory, choir_device *device, bool on_device, size_t bytes, size_t shift)
{
	*memory = (struct memory){ .device = on_device && region.base == NULL,
		                   .bytes = bytes,
		                   .offset = SENTINEL_BYTES + shift };
	if (region.base != NULL)
		return lend(memory, on_device);
	memory->host = malloc(whole(memory));
	memset(memory->host, SENTINEL, whole(memory));
	memory->buffer = choir_host(memory->host + memory->offset);
	return !on_device || make_on_device(memory, device);
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
	if (memory->pointer != NULL)
		give_pointer(memory);
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

/* The bytes of the device's memory go to the shadow or come from it. */
static void copy(struct memory *memory, bool pushes)
{
	void *to = pushes ? memory->pointer : memory->host;
	const void *from = pushes ? memory->host : memory->pointer;
	clEnqueueMemcpyINTEL_fn usm_copy;
	cl_event event = NULL;
	cl_int rc = CL_INVALID_OPERATION;

	switch (memory->kind) {
	case MEMORY_MEM:
		rc = pushes ? clEnqueueWriteBuffer(memory->queue, memory->mem, CL_FALSE, 0, whole(memory), memory->host,
		                                   0, NULL, &event)
		            : clEnqueueReadBuffer(memory->queue, memory->mem, CL_FALSE, 0, whole(memory), memory->host,
		                                  0, NULL, &event);
		break;
	case MEMORY_SVM_COARSE:
		rc = svm_copy(memory, pushes, whole(memory), &event);
		break;
	case MEMORY_USM_DEVICE:
		if (usm_function(memory->owner, "clEnqueueMemcpyINTEL", &usm_copy))
			rc = usm_copy(memory->queue, CL_FALSE, to, from, whole(memory), 0, NULL, &event);
		break;
	default:
		memcpy(to, from, whole(memory));
		return;
	}
	complete(memory, rc, event);
}

void memory_push(struct memory *memory)
{
	if (memory->device)
		copy(memory, true);
}

void memory_pull(struct memory *memory)
{
	if (memory->device)
		copy(memory, false);
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
