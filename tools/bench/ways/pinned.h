/* SPDX-License-Identifier: MIT */
/* Host memory that a device copies to and from at its best: CL_MEM_ALLOC_HOST_PTR, mapped for good. */
#ifndef BENCH_PINNED_H
#define BENCH_PINNED_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

struct pinned {
	cl_command_queue queue;
	cl_mem mem;
	char *host;
};

/* pinned_init: queue outlives it.  On failure pinned_fini is still due. */
bool pinned_init(struct pinned *pinned, cl_context context, cl_command_queue queue, size_t bytes);
void pinned_fini(struct pinned *pinned);

#endif
