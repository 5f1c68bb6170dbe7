/* SPDX-License-Identifier: MIT */
/* What the tests of the sparse kernels share: a device, memory on it, and memory that shows who wrote it. */
#ifndef TESTS_SPARSE_ON_DEVICE_H
#define TESTS_SPARSE_ON_DEVICE_H

#include "dev/dev.h"

#define SENTINEL 0x5a

extern choir_device *device;
extern bool small;       /* interpreted, or asked for: short lists */
extern bool short_loops; /* loops end after 65535 iterations: no lists that are longer */

/* Set-up and tear-down of a group. */
int open_device(void **state);
int close_device(void **state);

/* upload: a cl_mem with a copy of these bytes.  blank: memory full of SENTINEL, for free(). */
cl_mem upload(const void *from, size_t bytes);
void *blank(size_t bytes);

#endif
