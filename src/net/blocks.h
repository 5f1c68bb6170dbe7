/* SPDX-License-Identifier: MIT */
/* Blocks: memory for messages, kept for reuse by size class.  Any thread. */
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

/* blocks_fini: frees the blocks that were given back; all others must be in quarantine. */
void blocks_fini(struct blocks *blocks);

/* blocks_take: a block of at least that many bytes, 64-byte aligned, not zeroed; NULL without memory (error set). */
void *blocks_take(struct blocks *blocks, uint64_t bytes);
void blocks_give(struct blocks *blocks, void *data); /* NULL is silent */

/* blocks_quarantine: keeps the block for ever and never reuses it: a failed transport may still access it. */
void blocks_quarantine(void *data);

#endif
