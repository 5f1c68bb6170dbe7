/* SPDX-License-Identifier: MIT */
/* Memory that kernels work in.  On CPU devices it is the pool's, with large pages where the system has them: fresh
 * memory costs a page fault per 4 KiB.  On others it is the device's (dev_buffer_take). */
#ifndef SPARSE_SCRATCH_H
#define SPARSE_SCRATCH_H

#include "dev/dev.h"
#include "sparse/pool.h"

struct scratch {
	cl_mem mem;
	struct pool_block block; /* behind mem, on CPU devices */
	choir_device *device;    /* else: whose buffer mem is */
	struct dev_buffer kept;
};

/* scratch_take: bytes are whatever was there.  NO_MEMORY naming `what`, OPENCL; *out is then zeroed. */
choir_status scratch_take(choir_device *device, uint64_t bytes, const char *what, struct scratch *out);

/* scratch_give: nothing may still use it, and its device is still there.  Legal on a zeroed one. */
void scratch_give(struct scratch *scratch);

/* scratch_large_pages: asks for them where a block is large enough.  Only a hint. */
void scratch_large_pages(const struct pool_block *block);

#endif
