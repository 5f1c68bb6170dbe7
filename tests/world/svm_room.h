/* SPDX-License-Identifier: MIT */
/* Coarse-grained SVM.  NVIDIA's driver loses allocations that two threads make or free at once, so tests that know the
 * library from inside (svm_room.c) share its lock; the others (tests/mpi/svm_room.c) have one thread that allocates. */
#ifndef TESTS_SVM_ROOM_H
#define TESTS_SVM_ROOM_H

#include <choir/device.h>

void *svm_room_create(choir_device *device, size_t bytes); /* NULL: there is none */
void svm_room_free(choir_device *device, void *pointer);

#endif
