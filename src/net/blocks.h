/* SPDX-License-Identifier: MIT */
/* Blocks: message memory by size class, kept for reuse.  Any thread. */
#ifndef NET_BLOCKS_H
#define NET_BLOCKS_H

#include <choir/types.h>
#include <pthread.h>
#include <stdint.h>

enum { BLOCKS_CLASSES = 16 }; /* 256 bytes to 8 MB, by powers of two */

struct block;

struct blocks {
	pthread_mutex_t lock;
	struct block *free[BLOCKS_CLASSES];
	uint64_t kept_bytes;
};

choir_status blocks_init(struct blocks *blocks);
/* frees the blocks that were given back; all others must be quarantined */
void blocks_fini(struct blocks *blocks);

/* blocks_take: at least that many bytes, 64-byte aligned, not zeroed; NULL without memory (error set). */
void *blocks_take(struct blocks *blocks, uint64_t bytes);
void blocks_give(struct blocks *blocks, void *data); /* NULL is silent */

/* blocks_quarantine: the block is never used again and never unmapped: a transport that failed may still write to
 * it. */
void blocks_quarantine(void *data);

#endif
