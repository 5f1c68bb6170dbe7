/* SPDX-License-Identifier: MIT */
/* A piece of memory of the kind under test, on the rank's device or host. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "bench/args/args.h"

#include <choir/device.h>

/* Where it comes from.  share and unshare are for the symmetric kinds, and collective: the ranks' sizes may differ. */
struct memory_source {
	enum args_memory kind;
	choir_device *device;
	/* share: *mem_p is a cl_mem over the bytes at *ptr_p; mem_p may be NULL. */
	bool (*share)(void *ctx, size_t bytes, void **ptr_p, cl_mem *mem_p);
	void (*unshare)(void *ctx, void *ptr, cl_mem mem);
	void *ctx;
};

struct memory {
	const struct memory_source *source;
	size_t bytes;
	cl_mem mem; /* NULL: it is reached through host */
	cl_command_queue queue;
	unsigned char *host;
};

/* memory_init: at least one byte; source outlives it.  false if the device or the host has not that much; nothing is
 * left behind then. */
bool memory_init(struct memory *memory, const struct memory_source *source, size_t bytes);
void memory_fini(struct memory *memory);

/* memory_write, memory_read: all bytes; block.  false on an OpenCL error. */
bool memory_write(struct memory *memory, const void *from);
bool memory_read(struct memory *memory, void *to);

choir_buffer memory_buffer(const struct memory *memory, size_t offset_bytes);

/* memory_has_mem: whether that kind is given to choir as a cl_mem. */
static inline bool memory_has_mem(enum args_memory kind)
{
	return kind == MEMORY_DEVICE || kind == MEMORY_SYMMETRIC_DEVICE;
}

/* memory_host: page-aligned zeroed bytes, freed by free(); NULL if there are none left. */
void *memory_host(size_t bytes);

#endif
