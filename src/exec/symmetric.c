/* SPDX-License-Identifier: MIT */
/* Design notes.  A symmetric address is 16 bits of where and 48 bits of what: the number of some symmetric memory and
 * an offset in the rank's share, or an address of this process. */
#include "exec/symmetric.h"

#include <stdlib.h>

#define WHERE_SHIFT   48
#define WHAT_MASK     ((UINT64_C(1) << WHERE_SHIFT) - 1)
#define WHERE_PROCESS UINT64_C(0xFFFF)
#define WHERE_NOTHING UINT64_C(0xFFFE)
#define WHERE_LIST    UINT64_C(0xFFFD)
#define WHERE_DEVICE  UINT64_C(0xFFFC)
_Static_assert(COMM_SYMMETRIC < WHERE_DEVICE, "the numbers of symmetric memory end before the others");

choir_status symmetric_create(const struct choir_comm *comm, uint64_t bytes, struct symmetric **out_p)
{
	size_t n = (size_t)comm->node_size;
	struct symmetric *symmetric;

	if (bytes > WHAT_MASK)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%s: symmetric memory of %llu bytes: its addresses have %d bits for an offset",
		                 comm->name, (unsigned long long)bytes, WHERE_SHIFT);
	symmetric = calloc(1, sizeof *symmetric);
	if (symmetric != NULL) {
		symmetric->bytes = bytes;
		symmetric->n = (int)n;
		symmetric->shares = calloc(n, sizeof *symmetric->shares);
		symmetric->maps = calloc(n, sizeof *symmetric->maps);
	}
	if (symmetric == NULL || symmetric->shares == NULL || symmetric->maps == NULL) {
		symmetric_destroy(symmetric);
		return error_no_memory("shares of symmetric memory", n * sizeof *symmetric->shares);
	}
	*out_p = symmetric;
	return CHOIR_SUCCESS;
}

void symmetric_destroy(struct symmetric *symmetric)
{
	if (symmetric == NULL)
		return;
	dev_buffer_free(symmetric->mem); /* before the bytes it lies over */
	dev_buffer_free(symmetric->pinned);
	for (int i = 0; symmetric->maps != NULL && i < symmetric->n; i++)
		borrow_unmap(&symmetric->maps[i]);
	borrow_end(&symmetric->own);
	arena_release(symmetric->arena);
	free(symmetric->maps);
	free(symmetric->shares);
	free(symmetric);
}

bool symmetric_allows_direct(const struct choir_comm *comm)
{
	if (comm->n == 1 || comm->layout.n_nodes > 1)
		return false;
	return comm->one_process || atomic_load_explicit(&comm->symmetric.n, memory_order_acquire) > 0;
}

static bool holds(const struct choir_comm *comm, const struct symmetric *symmetric, const struct dev_access *access,
                  uint64_t *off_p)
{
	if (symmetric == NULL)
		return false;
	*off_p =
	    (uintptr_t)access->ptr - (uintptr_t)symmetric->shares[comm->local_rank]; /* of memory before it: huge */
	return *off_p < symmetric->bytes && access->bytes <= symmetric->bytes - *off_p;
}

uint64_t symmetric_address(const struct choir_comm *comm, const struct dev_access *access)
{
	uint64_t off;

	if (access->bytes == 0)
		return WHERE_NOTHING << WHERE_SHIFT;
	if (!access->direct)
		return 0;
	if (comm->one_process)
		return (uintptr_t)access->ptr <= WHAT_MASK ? WHERE_PROCESS << WHERE_SHIFT | (uintptr_t)access->ptr : 0;
	for (uint64_t i = 0; i < COMM_SYMMETRIC; i++)
		if (holds(comm, atomic_load_explicit(&comm->symmetric.entries[i], memory_order_acquire), access, &off))
			return (i + 1) << WHERE_SHIFT | off;
	return 0;
}

uint64_t symmetric_address_of_list(void)
{
	return WHERE_LIST << WHERE_SHIFT;
}

uint64_t symmetric_address_of_device(const struct run_source *source)
{
	return (uintptr_t)source <= WHAT_MASK ? WHERE_DEVICE << WHERE_SHIFT | (uintptr_t)source : 0;
}

const struct run_source *symmetric_source(uint64_t address)
{
	return (const struct run_source *)(uintptr_t)(address & WHAT_MASK);
}

unsigned char *symmetric_find(const struct choir_comm *comm, int local_rank, uint64_t address)
{
	uint64_t where = address >> WHERE_SHIFT, what = address & WHAT_MASK;
	const struct symmetric *symmetric;

	if (where == WHERE_PROCESS)
		return (unsigned char *)(uintptr_t)what;
	if (where == 0 || where > COMM_SYMMETRIC)
		return NULL;
	symmetric = atomic_load_explicit(&comm->symmetric.entries[where - 1], memory_order_acquire);
	return symmetric != NULL ? symmetric->shares[local_rank] + what : NULL;
}

choir_status symmetric_add(struct choir_comm *comm, struct symmetric *symmetric)
{
	for (int i = 0; i < COMM_SYMMETRIC; i++) {
		struct symmetric *none = NULL;

		if (atomic_compare_exchange_strong(&comm->symmetric.entries[i], &none, symmetric)) {
			atomic_fetch_add(&comm->symmetric.n, 1);
			atomic_fetch_add(&comm->symmetric.changes, 1);
			return CHOIR_SUCCESS;
		}
	}
	return error_set(
	    CHOIR_NO_MEMORY,
	    "%s: %d symmetric allocations are there already, and no more are possible: make fewer, larger ones",
	    comm->name, COMM_SYMMETRIC);
}

static int find_share(const struct choir_comm *comm, const void *ptr)
{
	for (int i = 0; i < COMM_SYMMETRIC; i++) {
		const struct symmetric *symmetric = atomic_load(&comm->symmetric.entries[i]);

		if (symmetric != NULL && symmetric->shares[comm->local_rank] == ptr)
			return i;
	}
	return -1;
}

const struct symmetric *symmetric_of(const struct choir_comm *comm, const void *ptr)
{
	int i = find_share(comm, ptr);

	return i >= 0 ? atomic_load(&comm->symmetric.entries[i]) : NULL;
}

void symmetric_remove(struct choir_comm *comm, const void *ptr)
{
	int i = find_share(comm, ptr);

	if (i < 0)
		return;
	symmetric_destroy(atomic_exchange(&comm->symmetric.entries[i], NULL));
	atomic_fetch_sub(&comm->symmetric.n, 1);
	atomic_fetch_add(&comm->symmetric.changes, 1);
}

void symmetric_close(struct choir_comm *comm)
{
	for (int i = 0; i < COMM_SYMMETRIC; i++)
		symmetric_destroy(atomic_exchange(&comm->symmetric.entries[i], NULL));
}
