/* SPDX-License-Identifier: MIT */
#include "symmetric.h"

#include "check.h"
#include "bench/ranks/world.h"

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
		fprintf(stderr, "choir-bench: rank %d: %s: %s\n", run->world->rank, choir_status_name(st),
		        choir_last_error());
		return false;
	}
	if (mem_p == NULL || *mem_p != NULL)
		return true;
	fprintf(stderr, "choir-bench: rank %d: the device has no cl_mem over host memory\n", run->world->rank);
	choir_mem_free(run->comm, *ptr_p);
	return false;
}

static void unshare(void *ctx, void *ptr, cl_mem mem)
{
	struct run *run = ctx;

	(void)mem; /* goes with the memory */
	choir_mem_free(run->comm, ptr);
}

struct memory_source symmetric_source(struct run *run)
{
	return (struct memory_source){
		.kind = run->args->memory, .device = run->device, .share = share, .unshare = unshare, .ctx = run
	};
}

static bool pool_share(void *ctx, size_t bytes, void **ptr_p, cl_mem *mem_p)
{
	struct symmetric_pool *pool = ctx;
	size_t room = (bytes + CHECK_PAGE_BYTES - 1) / CHECK_PAGE_BYTES * CHECK_PAGE_BYTES;
	cl_buffer_region region = { pool->used, bytes };
	cl_int rc = CL_SUCCESS;

	if (room > pool->bytes - pool->used)
		return false;
	if (mem_p != NULL)
		*mem_p = clCreateSubBuffer(pool->mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
	if (rc != CL_SUCCESS)
		return false;
	*ptr_p = pool->base + pool->used;
	pool->used += room;
	return true;
}

/* The room is not used again: the pool lives no longer than what is in it. */
static void pool_unshare(void *ctx, void *ptr, cl_mem mem)
{
	(void)ctx;
	(void)ptr;
	if (mem != NULL)
		clReleaseMemObject(mem);
}

static bool is_symmetric(const struct run *run)
{
	return run->args->memory == MEMORY_SYMMETRIC || run->args->memory == MEMORY_SYMMETRIC_DEVICE;
}

bool symmetric_pool_open(struct symmetric_pool *pool, struct run *run, size_t bytes)
{
	void *base;

	*pool = (struct symmetric_pool){ .run = run, .bytes = bytes };
	if (!is_symmetric(run))
		return true;
	if (!share(run, bytes, &base, run->args->memory == MEMORY_SYMMETRIC_DEVICE ? &pool->mem : NULL))
		return false;
	pool->base = base;
	return true;
}

struct memory_source symmetric_pool_source(struct symmetric_pool *pool)
{
	struct memory_source source = symmetric_source(pool->run);

	if (!is_symmetric(pool->run))
		return source;
	source.share = pool_share;
	source.unshare = pool_unshare;
	source.ctx = pool;
	return source;
}

void symmetric_pool_close(struct symmetric_pool *pool)
{
	if (pool->base != NULL)
		unshare(pool->run, pool->base, pool->mem);
	pool->base = NULL;
}
