/* SPDX-License-Identifier: MIT */
/* Design notes.
 *
 * A block has a header of 64 bytes before its data, so that data is 64-byte aligned and blocks_give needs no size.
 * Blocks above the largest class, and blocks beyond KEEP_BYTES kept ones, are freed at once.  Quarantined blocks stay
 * in a list, so that leak checkers do not report them. */
#include "net/blocks.h"

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/fork_lock.h"

#include <stdlib.h>

#define SMALLEST_BYTES ((uint64_t)256)
#define KEEP_BYTES     ((uint64_t)64 << 20)

enum { NO_CLASS = -1 };

struct block {
	_Alignas(64) struct block *next;
	int class;
};
_Static_assert(sizeof(struct block) == 64, "keeps the data aligned");

FORK_LOCK(quarantine_lock)
static struct block *quarantine;

static uint64_t class_bytes(int class)
{
	return SMALLEST_BYTES << class;
}

static int class_of(uint64_t bytes)
{
	for (int class = 0; class < BLOCKS_CLASSES; class ++)
		if (bytes <= class_bytes(class))
			return class;
	return NO_CLASS;
}

choir_status blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){ .kept_bytes = 0 };
	if (pthread_mutex_init(&blocks->lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for message memory");
	return CHOIR_SUCCESS;
}

void blocks_fini(struct blocks *blocks)
{
	for (int class = 0; class < BLOCKS_CLASSES; class ++)
		while (blocks->free[class] != NULL) {
			struct block *block = blocks->free[class];

			blocks->free[class] = block->next;
			free(block);
		}
	pthread_mutex_destroy(&blocks->lock);
}

static struct block *new_block(uint64_t bytes, int class)
{
	uint64_t total = sizeof(struct block) + (class == NO_CLASS ? round_up(bytes, 64) : class_bytes(class));
	struct block *block = total > bytes ? aligned_alloc(64, total) : NULL;

	if (block == NULL)
		error_no_memory("a message", bytes);
	else
		block->class = class;
	return block;
}

void *blocks_take(struct blocks *blocks, uint64_t bytes)
{
	int class = class_of(bytes);
	struct block *block = NULL;

	if (class != NO_CLASS) {
		pthread_mutex_lock(&blocks->lock);
		block = blocks->free[class];
		if (block != NULL) {
			blocks->free[class] = block->next;
			blocks->kept_bytes -= class_bytes(class);
		}
		pthread_mutex_unlock(&blocks->lock);
	}
	if (block == NULL)
		block = new_block(bytes, class);
	return block != NULL ? block + 1 : NULL;
}

void blocks_give(struct blocks *blocks, void *data)
{
	struct block *block = data;

	if (block == NULL)
		return;
	block--;
	if (block->class != NO_CLASS) {
		pthread_mutex_lock(&blocks->lock);
		if (blocks->kept_bytes + class_bytes(block->class) <= KEEP_BYTES) {
			blocks->kept_bytes += class_bytes(block->class);
			block->next = blocks->free[block->class];
			blocks->free[block->class] = block;
			block = NULL;
		}
		pthread_mutex_unlock(&blocks->lock);
	}
	free(block);
}

void blocks_quarantine(void *data)
{
	struct block *block = data;

	if (block == NULL)
		return;
	block--;
	pthread_mutex_lock(&quarantine_lock);
	block->next = quarantine;
	quarantine = block;
	pthread_mutex_unlock(&quarantine_lock);
}
