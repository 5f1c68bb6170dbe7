/* SPDX-License-Identifier: MIT */
/* Where the memory of --memory comes from; the symmetric kinds out of the run's comm. */
#ifndef BENCH_SYMMETRIC_H
#define BENCH_SYMMETRIC_H

#include "bench/run/run.h"

struct memory_source symmetric_source(struct run *run);

/* Many buffers out of one allocation, since a comm has few.  Of other kinds of memory it is symmetric_source. */
struct symmetric_pool {
	struct run *run;
	char *base;
	cl_mem mem;
	size_t bytes, used;
};

/* symmetric_pool_open: collective; false on all ranks, said.  bytes = all that will be asked for, each in whole
 * pages. */
bool symmetric_pool_open(struct symmetric_pool *pool, struct run *run, size_t bytes);
struct memory_source symmetric_pool_source(struct symmetric_pool *pool);
void symmetric_pool_close(struct symmetric_pool *pool);

#endif
