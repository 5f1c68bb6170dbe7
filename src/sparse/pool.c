/* SPDX-License-Identifier: MIT */
/* Design notes.  One list for the process, under a lock that is held for a scan of KEPT entries and never while memory
 * is asked of the system.  A block serves a request of at least a quarter of its size, so a small request never keeps a
 * large block busy.  What exceeds KEPT_BYTES is freed, and of more blocks than KEPT the smallest.  Under
 * AddressSanitizer nothing is kept, so that an access after pool_give is found. */
#include "sparse/pool.h"

#include "base/arithmetic.h"
#include "base/fork.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define KEPT 64

#if defined(__SANITIZE_ADDRESS__)
#define KEPT_BYTES UINT64_C(0)
#else
#define KEPT_BYTES (UINT64_C(256) << 20)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool_block kept[KEPT];
static uint64_t kept_bytes;

/* A thread of the parent may have been in the middle of the list: the child begins an empty one. */
static void forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(kept, 0, sizeof kept);
	kept_bytes = 0;
}

static bool take_kept(struct pool_block *block, uint64_t bytes)
{
	struct pool_block *best = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < KEPT; i++) {
		if (kept[i].bytes < bytes || kept[i].bytes / 4 > bytes)
			continue;
		if (best == NULL || kept[i].bytes < best->bytes)
			best = &kept[i];
	}
	if (best != NULL) {
		*block = *best;
		kept_bytes -= best->bytes;
		*best = (struct pool_block){ 0 };
	}
	pthread_mutex_unlock(&lock);
	return best != NULL;
}

/* Up to a quarter of the power of two below, and a page: a request that is little larger than the last one takes the
 * same block.  What nobody touches of it costs no memory. */
static uint64_t rounded(uint64_t bytes)
{
	uint64_t step = PAGE;

	while (step * 8 <= bytes)
		step *= 2;
	return round_up(bytes, step) + (bytes == 0 ? PAGE : 0);
}

choir_status pool_take(struct pool_block *block, uint64_t bytes, const char *what)
{
	fork_in_child(forked);
	*block = (struct pool_block){ 0 };
	if (bytes > UINT64_MAX / 2)
		return error_no_memory(what, bytes);
	bytes = rounded(bytes);
	if (take_kept(block, bytes))
		return CHOIR_SUCCESS;
	if (posix_memalign(&block->ptr, PAGE, bytes) != 0) {
		block->ptr = NULL;
		return error_no_memory(what, bytes);
	}
	block->bytes = bytes;
	return CHOIR_SUCCESS;
}

/* Keeps the block, in the place of the smallest one where there is none left: *block is then what is to be freed. */
static void keep(struct pool_block *block)
{
	struct pool_block *place = &kept[0], old;

	for (int i = 1; i < KEPT; i++)
		if (kept[i].bytes < place->bytes)
			place = &kept[i];
	old = *place;
	if (old.bytes >= block->bytes || kept_bytes - old.bytes + block->bytes > KEPT_BYTES)
		return;
	kept_bytes += block->bytes - old.bytes;
	*place = *block;
	*block = old;
}

void pool_give(struct pool_block *block)
{
	struct pool_block gone = *block;

	*block = (struct pool_block){ 0 };
	if (gone.ptr == NULL)
		return;
	pthread_mutex_lock(&lock);
	if (gone.bytes <= KEPT_BYTES)
		keep(&gone);
	pthread_mutex_unlock(&lock);
	free(gone.ptr);
}
