/* SPDX-License-Identifier: MIT */
#include "sparse/scratch.h"

#include <sys/mman.h>

#define PAGE_BYTES       4096
#define LARGE_PAGE_BYTES (UINT64_C(2) << 20)

void scratch_large_pages(const struct pool_block *block)
{
	uint64_t bytes = block->bytes / PAGE_BYTES * PAGE_BYTES;

#ifdef MADV_HUGEPAGE
	if (bytes >= 2 * LARGE_PAGE_BYTES && (uintptr_t)block->ptr % PAGE_BYTES == 0)
		(void)madvise(block->ptr, bytes, MADV_HUGEPAGE);
#else
	(void)bytes;
#endif
}

static choir_status wrap(choir_device *device, struct scratch *scratch)
{
	struct dev_memory memory;

	TRY(dev_memory_wrap(device, scratch->block.ptr, scratch->block.bytes, &memory));
	scratch->mem = memory.mem;
	return CHOIR_SUCCESS;
}

choir_status scratch_take(choir_device *device, uint64_t bytes, const char *what, struct scratch *out)
{
	choir_status st;

	*out = (struct scratch){ 0 };
	if (!dev_is_cpu(device)) {
		TRY(dev_buffer_take(device, bytes, &out->kept));
		out->device = device;
		out->mem = out->kept.mem;
		return CHOIR_SUCCESS;
	}
	TRY(pool_take(&out->block, bytes, what));
	scratch_large_pages(&out->block);
	st = wrap(device, out);
	if (st == CHOIR_SUCCESS && out->mem != NULL)
		return CHOIR_SUCCESS;
	pool_give(&out->block);
	return st == CHOIR_SUCCESS ? dev_buffer_create(device, bytes, &out->mem) : st;
}

void scratch_give(struct scratch *scratch)
{
	if (scratch->device != NULL)
		dev_buffer_give(scratch->device, &scratch->kept);
	else
		dev_buffer_free(scratch->mem);
	pool_give(&scratch->block);
	*scratch = (struct scratch){ 0 };
}
