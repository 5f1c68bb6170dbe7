/* SPDX-License-Identifier: MIT */
#include "symmetric.h"

#include "world.h"

#include <stdio.h>

/* The ranks' buffers may differ in size, their symmetric memory may not. */
static bool share(void *ctx, size_t bytes, void **ptr_p, cl_mem *mem_p)
{
	struct run *run = ctx;
	double largest = (double)bytes;
	choir_status st;

	world_max(run->world, &largest, 1);
	st = choir_mem_alloc(run->comm, (size_t)largest, ptr_p, mem_p);
	if (st != CHOIR_SUCCESS) {
		fprintf(stderr, "choir-bench: rank %d: %s: %s\n", run->world->rank, choir_status_name(st), choir_last_error());
		return false;
	}
	if (mem_p == NULL || *mem_p != NULL)
		return true;
	fprintf(stderr, "choir-bench: rank %d: the device has no cl_mem over host memory\n", run->world->rank);
	choir_mem_free(run->comm, *ptr_p);
	return false;
}

static void unshare(void *ctx, void *ptr)
{
	struct run *run = ctx;

	choir_mem_free(run->comm, ptr);
}

struct memory_source symmetric_source(struct run *run)
{
	return (struct memory_source){ .kind = run->args->memory, .device = run->device, .share = share, .unshare = unshare, .ctx = run };
}
