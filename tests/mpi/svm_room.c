/* SPDX-License-Identifier: MIT */
#include "world/svm_room.h"

void *svm_room_create(choir_device *device, size_t bytes)
{
	return clSVMAlloc(choir_device_context(device), CL_MEM_READ_WRITE, bytes, 0);
}

void svm_room_free(choir_device *device, void *pointer)
{
	clSVMFree(choir_device_context(device), pointer);
}
