/* SPDX-License-Identifier: MIT */
/* Symmetric memory.  Two gathers over the comm itself: where each node's arena is and how much everybody wants, then whether everybody has it.  The lowest rank
 * of a node makes the arena, in which each rank of the node has one slot: its memory. */
#include "api/call.h"
#include "exec/symmetric.h"

#include <stdlib.h>
#include <string.h>

/* What a rank says. */
struct offer {
	struct arena_address address; /* of its node's arena, from the node's lowest rank */
	uint64_t bytes;
	int32_t status, unused;
};
_Static_assert(sizeof(struct offer) % 8 == 0, "gathered as u64");

struct allotment {
	const char *call;
	int n_local;
	choir_comm *const *comms;
	struct offer *mine;        /* [n_local] */
	struct offer *all;         /* [n_local * n] what everybody said, as each local rank heard it */
	struct arena **arenas;     /* [n_local] each with a reference */
};

static choir_status check_comms(const char *call, int n_local, choir_comm *const *comms)
{
	if (n_local < 1 || comms == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: no comms, or n_local %d", call, n_local);
	if (in_callback())
		return error_set(CHOIR_WOULD_DEADLOCK, "%s inside a callback of the library's", call);
	if (group_is_open())
		return error_set(CHOIR_ARGUMENT, "%s inside a group", call);
	for (int i = 0; i < n_local; i++) {
		TRY(call_check_comm(call, comms[i]));
		if (comms[i]->context != comms[0]->context)
			return error_set(CHOIR_ARGUMENT, "%s: comms[%d] is of another comm than comms[0]", call, i);
	}
	return n_local == 1 ? call_may_block(call, comms[0], false) : CHOIR_SUCCESS;
}

static choir_status gather(struct allotment *a)
{
	size_t n = (size_t)a->comms[0]->n;
	choir_status st = choir_group_begin(), ended;

	for (int i = 0; i < a->n_local && st == CHOIR_SUCCESS; i++)
		st = choir_allgather(a->comms[i], choir_host(&a->mine[i]), choir_host(&a->all[(size_t)i * n]), sizeof(struct offer) / 8, CHOIR_U64, NULL,
		                     NULL);
	ended = choir_group_end();
	return st == CHOIR_SUCCESS ? ended : st;
}

static int leader_of(const choir_comm *comm)
{
	const struct layout *layout = &comm->layout;

	return layout->node_ranks[layout->node_first[layout->node_of[comm->rank]]];
}

/* Makes the arenas of the nodes that a local rank leads. */
static void make_arenas(struct allotment *a, uint64_t slot_bytes, uint64_t bytes)
{
	for (int i = 0; i < a->n_local; i++) {
		const choir_comm *comm = a->comms[i];
		struct offer *offer = &a->mine[i];

		*offer = (struct offer){ .bytes = bytes };
		if (comm->rank != leader_of(comm))
			continue;
		offer->status = arena_create(comm->layout.node_size[comm->layout.node_of[comm->rank]], 1, slot_bytes, &a->arenas[i]);
		if (offer->status == CHOIR_SUCCESS)
			arena_address(a->arenas[i], &offer->address);
	}
}

/* Every local rank heard the same. */
static choir_status check_offers(const struct allotment *a)
{
	for (int rank = 0; rank < a->comms[0]->n; rank++) {
		const struct offer *offer = &a->all[rank];

		if (offer->status != CHOIR_SUCCESS)
			return error_set((choir_status)offer->status, "%s: rank %d has no memory of %llu bytes to share", a->call, rank,
			                 (unsigned long long)offer->bytes);
		if (offer->bytes != a->mine[0].bytes)
			return error_set(CHOIR_MISMATCH, "%s: rank %d asks for %llu bytes, rank %d for %llu", a->call, a->comms[0]->rank,
			                 (unsigned long long)a->mine[0].bytes, rank, (unsigned long long)offer->bytes);
	}
	return CHOIR_SUCCESS;
}

static choir_status take_slot(struct allotment *a, int local, void **ptr_p, cl_mem *mem_p)
{
	choir_comm *comm = a->comms[local];
	struct dev_memory memory = { 0 };
	void *slot;

	if (a->arenas[local] == NULL)
		TRY(arena_open(&a->all[leader_of(comm)].address, &a->arenas[local]));
	slot = arena_slot(a->arenas[local], comm->place, 0);
	if (mem_p != NULL)
		TRY(dev_memory_wrap(comm->device, slot, (a->mine[local].bytes + 63) / 64 * 64, &memory));
	if (symmetric_add(comm, a->arenas[local], memory.mem) != CHOIR_SUCCESS) {
		dev_memory_free(comm->device, &memory);
		return CHOIR_NO_MEMORY;
	}
	a->arenas[local] = NULL; /* the comm's now */
	*ptr_p = slot;
	if (mem_p != NULL)
		*mem_p = memory.mem;
	return CHOIR_SUCCESS;
}

/* All ranks have their share, or none keeps one. */
static choir_status take_slots(struct allotment *a, void **ptrs, cl_mem *mems)
{
	choir_status st = CHOIR_SUCCESS, met;
	int n = a->comms[0]->n;
	char text[ERROR_TEXT_BYTES] = "";

	for (int i = 0; i < a->n_local; i++) {
		a->mine[i].status = take_slot(a, i, &ptrs[i], mems != NULL ? &mems[i] : NULL);
		if (a->mine[i].status != CHOIR_SUCCESS && st == CHOIR_SUCCESS) {
			st = (choir_status)a->mine[i].status;
			memcpy(text, error_text(), sizeof text);
		}
	}
	met = gather(a);
	for (int rank = 0; rank < n && met == CHOIR_SUCCESS && st == CHOIR_SUCCESS; rank++)
		if (a->all[rank].status != CHOIR_SUCCESS)
			met = error_set((choir_status)a->all[rank].status, "%s: rank %d could not map or wrap its share", a->call, rank);
	if (st == CHOIR_SUCCESS && met == CHOIR_SUCCESS)
		return CHOIR_SUCCESS;
	for (int i = 0; i < a->n_local; i++)
		if (a->mine[i].status == CHOIR_SUCCESS)
			symmetric_remove(a->comms[i], ptrs[i]);
	return st == CHOIR_SUCCESS ? met : error_set(st, "%s", text);
}

static choir_status allot(struct allotment *a, uint64_t bytes, void **ptrs, cl_mem *mems)
{
	enum { PAGE_BYTES = 4096 };

	make_arenas(a, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, bytes);
	TRY(gather(a));
	TRY(check_offers(a));
	return take_slots(a, ptrs, mems);
}

choir_status choir_mem_alloc_local(int n_local, choir_comm *const *comms, size_t bytes, void **ptrs, cl_mem *mems)
{
	static const char call[] = "choir_mem_alloc";
	struct allotment a = { .call = call, .n_local = n_local, .comms = comms };
	void **found;
	choir_status st;
	size_t n;

	TRY(check_comms(call, n_local, comms));
	if (ptrs == NULL || bytes == 0 || bytes > INT64_MAX / 2)
		return error_set(CHOIR_ARGUMENT, "%s: %s", call, ptrs == NULL ? "null pointer for the result" : bytes == 0 ? "0 bytes" : "more than 2^62 bytes");
	n = (size_t)comms[0]->n;
	a.mine = calloc((size_t)n_local, sizeof *a.mine);
	a.all = calloc((size_t)n_local * n, sizeof *a.all);
	a.arenas = calloc((size_t)n_local, sizeof *a.arenas);
	found = calloc((size_t)n_local, sizeof *found);
	if (a.mine == NULL || a.all == NULL || a.arenas == NULL || found == NULL)
		st = error_no_memory("offers of shared memory", (size_t)n_local * n * sizeof *a.all);
	else
		st = allot(&a, bytes, found, mems);
	for (int i = 0; i < n_local && a.arenas != NULL; i++)
		arena_release(a.arenas[i]);
	for (int i = 0; i < n_local && st == CHOIR_SUCCESS; i++)
		ptrs[i] = found[i];
	free(found);
	free(a.arenas);
	free(a.all);
	free(a.mine);
	return st;
}

choir_status choir_mem_alloc(choir_comm *comm, size_t bytes, void **ptr_p, cl_mem *mem_p)
{
	return choir_mem_alloc_local(1, &comm, bytes, ptr_p, mem_p);
}

/* Nobody's memory goes while a call of another rank may still touch it. */
static choir_status meet_all(int n_local, choir_comm *const *comms)
{
	choir_status st = choir_group_begin(), ended;

	for (int i = 0; i < n_local && st == CHOIR_SUCCESS; i++)
		st = choir_barrier(comms[i], NULL, NULL);
	ended = choir_group_end();
	return st == CHOIR_SUCCESS ? ended : st;
}

choir_status choir_mem_free_local(int n_local, choir_comm *const *comms, void *const *ptrs)
{
	static const char call[] = "choir_mem_free";

	TRY(check_comms(call, n_local, comms));
	if (ptrs == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null pointers", call);
	for (int i = 0; i < n_local; i++)
		if (!symmetric_begins(comms[i], ptrs[i]))
			return error_set(CHOIR_ARGUMENT, "%s: rank %d: %p is not what choir_mem_alloc gave for this comm", call, comms[i]->rank, ptrs[i]);
	TRY(meet_all(n_local, comms));
	for (int i = 0; i < n_local; i++)
		symmetric_remove(comms[i], ptrs[i]);
	return CHOIR_SUCCESS;
}

choir_status choir_mem_free(choir_comm *comm, void *ptr)
{
	return choir_mem_free_local(1, &comm, &ptr);
}
