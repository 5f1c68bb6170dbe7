/* SPDX-License-Identifier: MIT */
/* A piece of memory of the kind under test, on the rank's device or host. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "args.h"

#include <choir/device.h>

struct memory {
	enum args_memory kind;
	size_t bytes;
	cl_mem mem;
	cl_command_queue queue;
	unsigned char *host;
};

/* memory_init: at least one byte.  false if the device or the host has not that much; nothing is left behind then. */
bool memory_init(struct memory *memory, choir_device *device, enum args_memory kind, size_t bytes);
void memory_fini(struct memory *memory);

/* memory_write, memory_read: all bytes; block.  false on an OpenCL error. */
bool memory_write(struct memory *memory, const void *from);
bool memory_read(struct memory *memory, void *to);

choir_buffer memory_buffer(const struct memory *memory, size_t offset_bytes);

/* memory_host: page-aligned zeroed bytes, freed by free(); NULL if there are none left. */
void *memory_host(size_t bytes);

#endif
