/* SPDX-License-Identifier: MIT */
/* Design notes.  A place is 16 bits of where and 48 bits of what: an arena's number and an offset in it, or an address of this process. */
#include "exec/symmetric.h"

#define WHERE_SHIFT   48
#define WHAT_MASK     ((UINT64_C(1) << WHERE_SHIFT) - 1)
#define WHERE_PROCESS UINT64_C(0xFFFF)
#define WHERE_NOTHING UINT64_C(0xFFFE)

bool symmetric_usual(const struct choir_comm *comm)
{
	if (comm->n == 1 || comm->layout.n_nodes > 1)
		return false;
	return comm->one_process || atomic_load_explicit(&comm->n_symmetric, memory_order_acquire) > 0;
}

static bool holds(struct arena *arena, const void *ptr, uint64_t *off_p)
{
	uintptr_t base, at = (uintptr_t)ptr;

	if (arena == NULL)
		return false;
	base = (uintptr_t)arena_base(arena);
	*off_p = at - base;
	return at >= base && *off_p < arena_bytes(arena);
}

uint64_t symmetric_place(const struct choir_comm *comm, const struct dev_access *access)
{
	uint64_t off;

	if (access->bytes == 0)
		return WHERE_NOTHING << WHERE_SHIFT;
	if (!access->direct)
		return 0;
	if (comm->one_process)
		return (uintptr_t)access->ptr <= WHAT_MASK ? WHERE_PROCESS << WHERE_SHIFT | (uintptr_t)access->ptr : 0;
	for (uint64_t i = 0; i < COMM_SYMMETRIC; i++)
		if (holds(atomic_load_explicit(&comm->symmetric[i], memory_order_acquire), access->ptr, &off))
			return (i + 1) << WHERE_SHIFT | off;
	return 0;
}

unsigned char *symmetric_find(const struct choir_comm *comm, uint64_t place)
{
	uint64_t where = place >> WHERE_SHIFT, what = place & WHAT_MASK;
	struct arena *arena;

	if (where == WHERE_PROCESS)
		return (unsigned char *)(uintptr_t)what;
	if (where == 0 || where > COMM_SYMMETRIC)
		return NULL;
	arena = atomic_load_explicit(&comm->symmetric[where - 1], memory_order_acquire);
	return arena != NULL ? (unsigned char *)arena_base(arena) + what : NULL;
}

choir_status symmetric_add(struct choir_comm *comm, struct arena *arena, cl_mem mem)
{
	for (int i = 0; i < COMM_SYMMETRIC; i++) {
		struct arena *none = NULL;

		if (atomic_compare_exchange_strong(&comm->symmetric[i], &none, arena)) {
			comm->symmetric_mems[i] = mem;
			atomic_fetch_add(&comm->n_symmetric, 1);
			return CHOIR_SUCCESS;
		}
	}
	return error_set(CHOIR_NO_MEMORY, "%s: %d symmetric allocations are there already, and no more are possible: make fewer, larger ones", comm->name,
	                 COMM_SYMMETRIC);
}

static int find_slot(const struct choir_comm *comm, const void *ptr)
{
	for (int i = 0; i < COMM_SYMMETRIC; i++) {
		struct arena *arena = atomic_load(&comm->symmetric[i]);

		if (arena != NULL && arena_slot(arena, comm->place, 0) == ptr)
			return i;
	}
	return -1;
}

static void drop(struct choir_comm *comm, int i)
{
	struct arena *arena = atomic_exchange(&comm->symmetric[i], NULL);

	dev_buffer_free(comm->symmetric_mems[i]); /* before the bytes it lies over */
	comm->symmetric_mems[i] = NULL;
	arena_release(arena);
}

bool symmetric_begins(const struct choir_comm *comm, const void *ptr)
{
	return find_slot(comm, ptr) >= 0;
}

void symmetric_remove(struct choir_comm *comm, const void *ptr)
{
	int i = find_slot(comm, ptr);

	if (i < 0)
		return;
	drop(comm, i);
	atomic_fetch_sub(&comm->n_symmetric, 1);
}

void symmetric_close(struct choir_comm *comm)
{
	for (int i = 0; i < COMM_SYMMETRIC; i++)
		drop(comm, i);
}
