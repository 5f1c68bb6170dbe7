/* SPDX-License-Identifier: MIT */
#include "world/svm_room.h"

#include "dev/dev.h"

void *svm_room_create(choir_device *device, size_t bytes)
{
	struct dev_bytes room = { .mem = NULL };

	return dev_room_create(device, DEV_SVM, bytes, &room) == CHOIR_SUCCESS ? room.pointer : NULL;
}

void svm_room_free(choir_device *device, void *pointer)
{
	struct dev_bytes room = { .pointer = pointer };

	dev_room_free(device, &room);
}
