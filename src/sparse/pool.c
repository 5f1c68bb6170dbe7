/* SPDX-License-Identifier: MIT */
/* Design notes.  One list for the process. */
#include "sparse/pool.h"

#include "base/fork.h"
#include "base/keep.h"

#include <stdlib.h>

enum { PAGE = 4096, KEPT_BYTES = 256 << 20 };

static struct keep kept;

/* A thread of the parent may have been in the middle of the list: the child begins an empty one. */
static void begin(void)
{
	keep_init(&kept, KEPT_BYTES);
}

static void begin_once(void)
{
	begin();
	fork_in_child(begin);
}

choir_status pool_take(struct pool_block *block, uint64_t bytes, const char *what)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct keep_block found;

	pthread_once(&once, begin_once);
	*block = (struct pool_block){ 0 };
	if (bytes > UINT64_MAX / 2)
		return error_no_memory(what, bytes);
	bytes = keep_rounded(bytes);
	if (keep_take(&kept, bytes, &found)) {
		*block = (struct pool_block){ found.ptr, found.bytes };
		return CHOIR_SUCCESS;
	}
	if (posix_memalign(&block->ptr, PAGE, bytes) != 0) {
		block->ptr = NULL;
		return error_no_memory(what, bytes);
	}
	block->bytes = bytes;
	return CHOIR_SUCCESS;
}

void pool_give(struct pool_block *block)
{
	struct pool_block gone = *block;

	*block = (struct pool_block){ 0 };
	if (gone.ptr != NULL)
		free(keep_give(&kept, (struct keep_block){ .ptr = gone.ptr, .bytes = gone.bytes }));
}
