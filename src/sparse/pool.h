/* SPDX-License-Identifier: MIT */
/* Host memory that is used again: a fresh large block costs a page fault per 4 KiB, more than the work done in it. */
#ifndef SPARSE_POOL_H
#define SPARSE_POOL_H

#include "base/error.h"

struct pool_block {
	void *ptr; /* page aligned; bytes are whatever was there */
	uint64_t bytes;
};

/* pool_take: at least that many bytes (0 gives a block too).  Any thread.  NO_MEMORY naming `what`; *block is then
 * zeroed. */
choir_status pool_take(struct pool_block *block, uint64_t bytes, const char *what);

/* pool_give: back to the pool, and *block zeroed.  Legal on a zeroed block. */
void pool_give(struct pool_block *block);

#endif
