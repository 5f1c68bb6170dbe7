/* SPDX-License-Identifier: MIT */
/* A test's buffers, in every kind of memory that a caller may give. */
#ifndef TESTS_SPARSE_BUFFERS_H
#define TESTS_SPARSE_BUFFERS_H

#include <choir/device.h>
#include <stdbool.h>

enum memory { IN_HOST, IN_MEM, IN_SVM, IN_USM_HOST, IN_USM_SHARED, IN_USM_DEVICE, N_MEMORIES };

/* buffers_open: for devices of this one's context, which outlives all buffers. */
void buffers_open(choir_device *device);

/* buffers_have: does the device have that kind? */
bool buffers_have(enum memory memory);

/* buffer_make: a copy of bytes > 0 bytes.  buffer_read: its first bytes.  buffer_free: none is silent. */
choir_buffer buffer_make(enum memory memory, const void *from, size_t bytes);
void buffer_read(choir_buffer buffer, void *to, size_t bytes);
void buffer_free(choir_buffer buffer);

#endif
