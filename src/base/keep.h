/* SPDX-License-Identifier: MIT */
/* Blocks of memory, of the host or of a device, that are kept for the next who needs one: asking the system or a driver
 * costs more than the work done in them. */
#ifndef BASE_KEEP_H
#define BASE_KEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { KEEP_BLOCKS = 64 };

struct keep_block {
	void *ptr; /* whatever the caller frees */
	uint64_t bytes;
	uint64_t given; /* when: the number of the keep_give */
};

struct keep {
	pthread_mutex_t lock;
	struct keep_block blocks[KEEP_BLOCKS];
	uint64_t bytes, most_bytes, n_given;
};

void keep_init(struct keep *keep, uint64_t most_bytes);

/* keep_rounded: the bytes to ask the system for, so that a request that is little larger than the last one takes the
 * same block.
 * keep_take: a block of at least that many bytes; false if none fits.
 * keep_give: keeps the block.  NULL, or what the caller now has to free: it, or another one.
 * keep_drop: takes any block; NULL if there is none left.
 * Any thread. */
uint64_t keep_rounded(uint64_t bytes);
bool keep_take(struct keep *keep, uint64_t bytes, struct keep_block *out);
void *keep_give(struct keep *keep, struct keep_block block);
void *keep_drop(struct keep *keep);

#endif
