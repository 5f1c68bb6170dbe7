/* SPDX-License-Identifier: MIT */
/* Memory for arriving messages, kept for reuse by size class.  Not thread-safe: a transport gets one call at a time. */
#ifndef MPI_BUFFERS_H
#define MPI_BUFFERS_H

#include <stddef.h>

enum { BUFFERS_CLASSES = 16 }; /* 256 bytes to 8 MB, by powers of two */

struct buffer;

struct buffers {
	struct buffer *free[BUFFERS_CLASSES];
	size_t kept_bytes;
};

void buffers_fini(struct buffers *buffers);                /* frees the buffers that were given back */
void *buffers_take(struct buffers *buffers, size_t bytes); /* 64-byte aligned; NULL without memory */
void buffers_give(struct buffers *buffers, void *data);
void *buffers_memory(void *data); /* the allocation that contains data, for mpi_quarantine */

#endif
