/* SPDX-License-Identifier: MIT */
/* Device memory of three kinds: cl_mems, SVM and USM. */
#include "base/fork_lock.h"
#include "dev/device_impl.h"

/* NVIDIA's driver 580 loses allocations that two threads make or free at once. */
FORK_LOCK(svm_lock)

static void *svm_alloc(choir_device *device, uint64_t bytes)
{
	void *pointer;

	pthread_mutex_lock(&svm_lock);
	pointer = clSVMAlloc(device->context, CL_MEM_READ_WRITE, bytes, 0);
	pthread_mutex_unlock(&svm_lock);
	return pointer;
}

static void svm_free(choir_device *device, void *pointer)
{
	pthread_mutex_lock(&svm_lock);
	clSVMFree(device->context, pointer);
	pthread_mutex_unlock(&svm_lock);
}

enum dev_kind dev_kind_of(struct dev_bytes bytes)
{
	return bytes.mem != NULL ? DEV_MEM : bytes.is_usm ? DEV_USM : DEV_SVM;
}

struct dev_bytes dev_bytes_of(const struct dev_access *access)
{
	if (access->mem != NULL)
		return (struct dev_bytes){ .mem = access->mem, .off = access->off };
	return (struct dev_bytes){ .pointer = access->usm != NULL ? access->usm : access->svm,
		                   .is_usm = access->usm != NULL };
}

bool dev_copies_between(const struct dev_access *to, const struct dev_access *from)
{
	bool is_there = (to->mem != NULL || to->svm != NULL || to->usm != NULL) &&
	                (from->mem != NULL || from->svm != NULL || from->usm != NULL);

	return is_there && dev_kind_of(dev_bytes_of(to)) == dev_kind_of(dev_bytes_of(from));
}

choir_status dev_room_create(choir_device *device, enum dev_kind kind, uint64_t bytes, struct dev_bytes *out)
{
	struct dev_bytes room = { .is_usm = kind == DEV_USM };
	cl_int rc = CL_MEM_OBJECT_ALLOCATION_FAILURE;

	if (kind == DEV_MEM) {
		TRY(dev_buffer_create(device, bytes, &out->mem));
		return CHOIR_SUCCESS;
	}
	if (room.is_usm)
		room.pointer = device->usm.alloc(device->context, device->id, NULL, bytes, 0, &rc);
	else
		room.pointer = svm_alloc(device, bytes);
	if (room.pointer == NULL)
		return error_cl(room.is_usm ? "clDeviceMemAllocINTEL" : "clSVMAlloc", rc);
	*out = room;
	return CHOIR_SUCCESS;
}

void dev_room_free(choir_device *device, struct dev_bytes *room)
{
	dev_buffer_free(room->mem);
	if (room->pointer != NULL && room->is_usm)
		device->usm.free(device->context, room->pointer);
	else if (room->pointer != NULL)
		svm_free(device, room->pointer);
	*room = (struct dev_bytes){ .mem = NULL };
}

cl_int dev_room_argument(choir_device *device, cl_kernel kernel, cl_uint index, const struct dev_bytes *room)
{
	switch (dev_kind_of(*room)) {
	case DEV_SVM:
		return clSetKernelArgSVMPointer(kernel, index, room->pointer);
	case DEV_USM:
		return device->usm.set_argument(kernel, index, room->pointer);
	default:
		return clSetKernelArg(kernel, index, sizeof room->mem, &room->mem);
	}
}
