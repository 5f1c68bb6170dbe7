/* SPDX-License-Identifier: MIT */
/* Symmetric memory.  Two gathers over the comm itself: where each rank's share can be found and how long it is, then
 * whether everybody has mapped the others'.  In memory that is allocated the lowest rank of a node makes an arena, in
 * which each rank of the node has one slot: its share. */
#include "api/call.h"
#include "base/arithmetic.h"
#include "base/kept_error.h"
#include "base/plural.h"
#include "exec/symmetric.h"

#include <stdlib.h>

enum { PAGE_BYTES = 4096 };

/* A rank's part of the gather. */
struct offer {
	struct arena_address arena; /* allocated: of its node's, from the node's lowest rank */
	struct borrow_address own;  /* registered: of its own */
	uint64_t bytes;
	int32_t status, registers;
	int64_t unmapped; /* once its status is a failure: the rank whose memory it could not map, -1: none */
};
_Static_assert(sizeof(struct offer) % 8 == 0, "gathered as u64");

struct allotment {
	const char *call;
	int n_local;
	choir_comm *const *comms;
	uint64_t bytes;
	void *const *registered; /* [n_local] the callers' memory, NULL = it is allocated */
	struct offer *mine;      /* [n_local] */
	struct offer *all;       /* [n_local * n] what everybody said, as each local rank heard it */
	struct symmetric **made; /* [n_local] not yet the comm's */
};

static choir_status check_comms(const char *call, int n_local, choir_comm *const *comms)
{
	TRY(call_check_comms(call, n_local, comms));
	return n_local == 1 ? call_may_block(call, comms[0], false) : CHOIR_SUCCESS;
}

/* SUCCESS: until call_leave_all nobody destroys them. */
static choir_status enter_comms(const char *call, int n_local, choir_comm *const *comms)
{
	choir_status st;

	if (n_local < 1 || comms == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: no comms, or n_local %d", call, n_local);
	TRY(call_enter_all(call, n_local, comms));
	st = check_comms(call, n_local, comms);
	if (st != CHOIR_SUCCESS)
		call_leave_all(n_local, comms);
	return st;
}

static choir_status gather(struct allotment *a)
{
	const choir_call part = call_part_of(a->call);
	size_t n = (size_t)a->comms[0]->n;
	choir_status st = choir_group_begin();

	if (st != CHOIR_SUCCESS)
		return st;
	for (int i = 0; i < a->n_local && st == CHOIR_SUCCESS; i++)
		st = choir_allgather(a->comms[i], choir_host(&a->mine[i]), choir_host(&a->all[(size_t)i * n]),
		                     sizeof(struct offer) / 8, CHOIR_U64, &part, NULL);
	return group_close(st);
}

/* The node's lowest rank makes the arena. */
static choir_status make_arena(struct symmetric *symmetric, const choir_comm *comm, struct offer *offer)
{
	uint64_t slot_bytes = round_up(symmetric->bytes, PAGE_BYTES);

	if (comm->rank != comm_rank_at(comm, 0))
		return CHOIR_SUCCESS;
	TRY(arena_create(symmetric->n, 1, slot_bytes, &symmetric->arena));
	arena_address(symmetric->arena, &offer->arena);
	return CHOIR_SUCCESS;
}

/* Fills this rank's part of the gather: its memory, and the status of making it. */
static choir_status make_offer(struct allotment *a, int local)
{
	struct offer *offer = &a->mine[local];

	*offer = (struct offer){ .bytes = a->bytes, .registers = a->registered != NULL, .unmapped = -1 };
	offer->status = symmetric_create(a->comms[local], a->bytes, &a->made[local]);
	if (offer->status == CHOIR_SUCCESS && a->registered == NULL)
		offer->status = make_arena(a->made[local], a->comms[local], offer);
	if (offer->status == CHOIR_SUCCESS && a->registered != NULL && !a->comms[local]->one_process) {
		offer->status = borrow_begin(a->registered[local], a->bytes, &a->made[local]->own);
		offer->own = a->made[local]->own;
	}
	return (choir_status)offer->status;
}

/* Every local rank heard the same. */
static choir_status check_offers(const struct allotment *a)
{
	const struct offer *mine = &a->mine[0];

	for (int rank = 0; rank < a->comms[0]->n; rank++) {
		const struct offer *theirs = &a->all[rank];

		if (theirs->bytes != mine->bytes || theirs->registers != mine->registers)
			return error_set(CHOIR_MISMATCH, "%s: rank %d %s %llu byte%s, rank %d %s %llu", a->call,
			                 a->comms[0]->rank, mine->registers ? "registers" : "asks for",
			                 (unsigned long long)mine->bytes, plural(mine->bytes), rank,
			                 theirs->registers ? "registers" : "asks for",
			                 (unsigned long long)theirs->bytes);
		if (theirs->status != CHOIR_SUCCESS)
			return error_set((choir_status)theirs->status,
			                 "%s: rank %d has no memory of %llu byte%s that others can map", a->call, rank,
			                 (unsigned long long)theirs->bytes, plural(theirs->bytes));
	}
	return CHOIR_SUCCESS;
}

static choir_status could_not_map(struct offer *mine, int rank, choir_status st)
{
	mine->unmapped = rank;
	return error_prefix(st, "rank %d", rank);
}

static choir_status map_arena(struct symmetric *symmetric, const choir_comm *comm, const struct offer *all,
                              struct offer *mine)
{
	int maker = comm_rank_at(comm, 0);
	choir_status st = CHOIR_SUCCESS;

	if (symmetric->arena == NULL)
		st = arena_open(&all[maker].arena, &symmetric->arena);
	if (st != CHOIR_SUCCESS)
		return could_not_map(mine, maker, st == CHOIR_TRANSPORT ? peer_lost(all[maker].arena.process) : st);
	for (int local_rank = 0; local_rank < symmetric->n; local_rank++)
		symmetric->shares[local_rank] = arena_slot(symmetric->arena, local_rank, 0);
	return CHOIR_SUCCESS;
}

/* In one process the shares are at addresses of this process: nothing is to be mapped. */
static choir_status map_lent(struct symmetric *symmetric, const choir_comm *comm, const struct offer *all,
                             struct offer *mine, void *share)
{
	symmetric->shares[comm->local_rank] = share;
	for (int local_rank = 0; local_rank < symmetric->n && !comm->one_process; local_rank++) {
		if (local_rank == comm->local_rank)
			continue;
		choir_status st = borrow_map(&all[comm_rank_at(comm, local_rank)].own, &symmetric->maps[local_rank]);

		if (st != CHOIR_SUCCESS)
			return could_not_map(mine, comm_rank_at(comm, local_rank), st);
		symmetric->shares[local_rank] = symmetric->maps[local_rank].ptr;
	}
	return CHOIR_SUCCESS;
}

static choir_status take_share(struct allotment *a, int local, bool wrap)
{
	choir_comm *comm = a->comms[local];
	struct symmetric *symmetric = a->made[local];
	struct dev_memory memory = { 0 };
	void *share;

	if (a->registered != NULL)
		TRY(map_lent(symmetric, comm, a->all, &a->mine[local], a->registered[local]));
	else
		TRY(map_arena(symmetric, comm, a->all, &a->mine[local]));
	share = symmetric->shares[comm->local_rank];
	if (wrap)
		TRY(dev_memory_wrap(comm->device, share, round_up(a->bytes, 64), &memory));
	symmetric->mem = memory.mem;
	/* Whole pages of an allocated share, which it has: some drivers pin no others. */
	dev_memory_pin(comm->device, share, a->registered != NULL ? a->bytes : round_up(a->bytes, PAGE_BYTES),
	               &symmetric->pinned);
	TRY(symmetric_add(comm, symmetric));
	a->made[local] = NULL;
	return CHOIR_SUCCESS;
}

/* The error of another rank, as this one says it. */
static choir_status failed_there(const struct allotment *a, int rank)
{
	const struct offer *theirs = &a->all[rank];
	choir_status st = (choir_status)theirs->status;

	if (st == CHOIR_PEER_DEAD && theirs->unmapped >= 0)
		return error_set(st, "%s: rank %d is dead: rank %d could not map its share", a->call,
		                 (int)theirs->unmapped, rank);
	return error_set(st, "%s: rank %d could not map or wrap the shares", a->call, rank);
}

struct share_of_rank {
	void *ptr;
	cl_mem mem;
};

/* All ranks have their share, or none keeps one.  Where the comm has failed meanwhile that is said: a peer that knows
 * it has given its share back, so it could not be mapped. */
static choir_status take_shares(struct allotment *a, struct share_of_rank *taken, bool wants_mems)
{
	struct kept_error failure = { .status = CHOIR_SUCCESS };
	choir_status met;

	for (int i = 0; i < a->n_local; i++) {
		const struct symmetric *symmetric = a->made[i];

		a->mine[i].status = take_share(a, i, wants_mems);
		if (a->mine[i].status != CHOIR_SUCCESS) {
			error_keep_first(&failure, error_prefix((choir_status)a->mine[i].status, "%s", a->call));
			continue;
		}
		taken[i] = (struct share_of_rank){ symmetric->shares[a->comms[i]->local_rank], symmetric->mem };
	}
	met = gather(a);
	for (int rank = 0; rank < a->comms[0]->n && met == CHOIR_SUCCESS && failure.status == CHOIR_SUCCESS; rank++)
		if (a->all[rank].status != CHOIR_SUCCESS)
			met = failed_there(a, rank);
	if (failure.status == CHOIR_SUCCESS && met == CHOIR_SUCCESS)
		return CHOIR_SUCCESS;
	for (int i = 0; i < a->n_local; i++)
		if (a->mine[i].status == CHOIR_SUCCESS)
			symmetric_remove(a->comms[i], taken[i].ptr);
	return met != CHOIR_SUCCESS ? met : error_again(&failure);
}

static choir_status allot(struct allotment *a, struct share_of_rank *taken, bool wants_mems)
{
	struct kept_error failure = { .status = CHOIR_SUCCESS };

	for (int i = 0; i < a->n_local; i++) {
		choir_status st = make_offer(a, i);

		if (st != CHOIR_SUCCESS)
			error_keep_first(&failure, error_prefix(st, "%s: rank %d", a->call, a->comms[i]->rank));
	}
	TRY(gather(a));
	TRY(error_again(&failure));
	TRY(check_offers(a));
	return take_shares(a, taken, wants_mems);
}

static choir_status obtain(struct allotment *a, void **ptrs, cl_mem *mems)
{
	size_t n_local = (size_t)a->n_local, n = (size_t)a->comms[0]->n;
	struct share_of_rank *found = calloc(n_local, sizeof *found);
	choir_status st;

	a->mine = calloc(n_local, sizeof *a->mine);
	a->all = calloc(n_local * n, sizeof *a->all);
	a->made = calloc(n_local, sizeof *a->made);
	if (a->mine == NULL || a->all == NULL || a->made == NULL || found == NULL)
		st = error_no_memory("offers of shared memory", n_local * n * sizeof *a->all);
	else
		st = allot(a, found, mems != NULL);
	for (size_t i = 0; i < n_local && a->made != NULL; i++)
		symmetric_destroy(a->made[i]);
	for (size_t i = 0; i < n_local && st == CHOIR_SUCCESS; i++) {
		if (ptrs != NULL)
			ptrs[i] = found[i].ptr;
		if (mems != NULL)
			mems[i] = found[i].mem;
	}
	free(found);
	free(a->made);
	free(a->all);
	free(a->mine);
	return st;
}

static choir_status check_bytes(const char *call, size_t bytes)
{
	if (bytes == 0 || bytes > INT64_MAX / 2)
		return error_set(CHOIR_ARGUMENT, "%s: %s", call, bytes == 0 ? "0 bytes" : "more than 2^62 bytes");
	return CHOIR_SUCCESS;
}

choir_status choir_mem_alloc_local(int n_local, choir_comm *const *comms, size_t bytes, void **ptrs, cl_mem *mems)
{
	struct allotment a = { .call = "choir_mem_alloc", .n_local = n_local, .comms = comms, .bytes = bytes };
	choir_status st;

	TRY(enter_comms(a.call, n_local, comms));
	st = check_bytes(a.call, bytes);
	if (st == CHOIR_SUCCESS && ptrs == NULL)
		st = error_set(CHOIR_ARGUMENT, "%s: null pointer for the result", a.call);
	if (st == CHOIR_SUCCESS)
		st = obtain(&a, ptrs, mems);
	call_leave_all(n_local, comms);
	return st;
}

choir_status choir_mem_alloc(choir_comm *comm, size_t bytes, void **ptr_p, cl_mem *mem_p)
{
	return choir_mem_alloc_local(1, &comm, bytes, ptr_p, mem_p);
}

static choir_status check_unregistered(const struct allotment *a)
{
	TRY(check_bytes(a->call, a->bytes));
	for (int i = 0; i < a->n_local; i++)
		if (a->registered == NULL || a->registered[i] == NULL)
			return error_set(CHOIR_ARGUMENT, "%s: rank %d: null pointer", a->call, a->comms[i]->rank);
	for (int i = 0; i < a->n_local; i++)
		if (symmetric_of(a->comms[i], a->registered[i]) != NULL)
			return error_set(CHOIR_ARGUMENT, "%s: rank %d: %p is registered or allocated already", a->call,
			                 a->comms[i]->rank, a->registered[i]);
	return CHOIR_SUCCESS;
}

choir_status choir_mem_register_local(int n_local, choir_comm *const *comms, void *const *ptrs, size_t bytes)
{
	struct allotment a = {
		.call = "choir_mem_register", .n_local = n_local, .comms = comms, .bytes = bytes, .registered = ptrs
	};
	choir_status st;

	TRY(enter_comms(a.call, n_local, comms));
	st = check_unregistered(&a);
	if (st == CHOIR_SUCCESS)
		st = obtain(&a, NULL, NULL);
	call_leave_all(n_local, comms);
	return st;
}

choir_status choir_mem_register(choir_comm *comm, void *ptr, size_t bytes)
{
	return choir_mem_register_local(1, &comm, &ptr, bytes);
}

/* A barrier, since a call of another rank may touch the memory until that rank comes here too. */
static choir_status meet_all(const char *call, int n_local, choir_comm *const *comms)
{
	const choir_call part = call_part_of(call);
	choir_status st = choir_group_begin();

	if (st != CHOIR_SUCCESS)
		return st;
	for (int i = 0; i < n_local && st == CHOIR_SUCCESS; i++)
		st = choir_barrier(comms[i], &part, NULL);
	return group_close(st);
}

static choir_status meet_and_remove(const char *call, int n_local, choir_comm *const *comms, void *const *ptrs,
                                    bool registered)
{
	if (ptrs == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null pointers", call);
	for (int i = 0; i < n_local; i++) {
		const struct symmetric *symmetric = symmetric_of(comms[i], ptrs[i]);

		if (symmetric == NULL || (symmetric->arena == NULL) != registered)
			return error_set(CHOIR_ARGUMENT, "%s: rank %d: %p is not what %s for this comm", call,
			                 comms[i]->rank, ptrs[i],
			                 registered ? "was given to choir_mem_register" : "choir_mem_alloc gave");
	}
	TRY(meet_all(call, n_local, comms));
	for (int i = 0; i < n_local; i++)
		symmetric_remove(comms[i], ptrs[i]);
	return CHOIR_SUCCESS;
}

static choir_status give_back(const char *call, int n_local, choir_comm *const *comms, void *const *ptrs,
                              bool registered)
{
	choir_status st;

	TRY(enter_comms(call, n_local, comms));
	st = meet_and_remove(call, n_local, comms, ptrs, registered);
	call_leave_all(n_local, comms);
	return st;
}

choir_status choir_mem_free_local(int n_local, choir_comm *const *comms, void *const *ptrs)
{
	return give_back("choir_mem_free", n_local, comms, ptrs, false);
}

choir_status choir_mem_free(choir_comm *comm, void *ptr)
{
	return choir_mem_free_local(1, &comm, &ptr);
}

choir_status choir_mem_deregister_local(int n_local, choir_comm *const *comms, void *const *ptrs)
{
	return give_back("choir_mem_deregister", n_local, comms, ptrs, true);
}

choir_status choir_mem_deregister(choir_comm *comm, void *ptr)
{
	return choir_mem_deregister_local(1, &comm, &ptr);
}
