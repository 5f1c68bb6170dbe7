/* SPDX-License-Identifier: MIT */
/* Design notes.  The lock is held for a scan of all blocks and never while memory is asked for.  A block serves a
 * request of at least a quarter of its size, so a small request never keeps a large block busy.  Of more blocks than
 * there are places the smallest goes; where most_bytes are exceeded, the oldest one without which they are not.  Under
 * AddressSanitizer nothing is kept, so that an access after it was given is found. */
#include "base/keep.h"

#include "base/arithmetic.h"

#include <string.h>

#define PAGE 4096

void keep_init(struct keep *keep, uint64_t most_bytes)
{
	pthread_mutex_init(&keep->lock, NULL);
	memset(keep->blocks, 0, sizeof keep->blocks);
	keep->bytes = keep->n_given = 0;
#ifdef __SANITIZE_ADDRESS__
	most_bytes = 0;
#endif
	keep->most_bytes = most_bytes;
}

/* Adds up to a quarter of the power of two below, or up to a page.  Pages that are not touched cost no memory. */
uint64_t keep_rounded(uint64_t bytes)
{
	uint64_t step = PAGE;

	while (step * 8 <= bytes)
		step *= 2;
	return round_up(bytes, step) + (bytes == 0 ? PAGE : 0);
}

static void *take(struct keep *keep, struct keep_block *block)
{
	void *ptr = block->ptr;

	keep->bytes -= block->bytes;
	*block = (struct keep_block){ 0 };
	return ptr;
}

bool keep_take(struct keep *keep, uint64_t bytes, struct keep_block *out)
{
	struct keep_block *best = NULL;

	pthread_mutex_lock(&keep->lock);
	for (int i = 0; i < KEEP_BLOCKS; i++) {
		struct keep_block *block = &keep->blocks[i];

		if (block->bytes < bytes || block->bytes / 4 > bytes || block->ptr == NULL)
			continue;
		if (best == NULL || block->bytes < best->bytes)
			best = block;
	}
	if (best != NULL) {
		out->bytes = best->bytes;
		out->ptr = take(keep, best);
	}
	pthread_mutex_unlock(&keep->lock);
	return best != NULL;
}

/* The place for a block of so many bytes, which replaces the block that is there; NULL: there is none. */
static struct keep_block *place_for(struct keep *keep, uint64_t bytes)
{
	struct keep_block *place = &keep->blocks[0], *oldest = NULL;

	for (int i = 0; i < KEEP_BLOCKS; i++) {
		struct keep_block *block = &keep->blocks[i];

		if (block->bytes < place->bytes)
			place = block;
		if (block->ptr != NULL && keep->bytes - block->bytes + bytes <= keep->most_bytes &&
		    (oldest == NULL || block->given < oldest->given))
			oldest = block;
	}
	if (keep->bytes - place->bytes + bytes > keep->most_bytes)
		return oldest;
	return place->bytes < bytes ? place : NULL;
}

void *keep_give(struct keep *keep, struct keep_block block)
{
	struct keep_block *place;
	void *gone = block.ptr;

	pthread_mutex_lock(&keep->lock);
	place = place_for(keep, block.bytes);
	if (place != NULL) {
		gone = take(keep, place);
		block.given = ++keep->n_given;
		*place = block;
		keep->bytes += block.bytes;
	}
	pthread_mutex_unlock(&keep->lock);
	return gone;
}

void *keep_drop(struct keep *keep)
{
	void *ptr = NULL;

	pthread_mutex_lock(&keep->lock);
	for (int i = 0; i < KEEP_BLOCKS && ptr == NULL; i++)
		if (keep->blocks[i].ptr != NULL)
			ptr = take(keep, &keep->blocks[i]);
	pthread_mutex_unlock(&keep->lock);
	return ptr;
}
