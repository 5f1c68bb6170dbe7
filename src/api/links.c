/* SPDX-License-Identifier: MIT */
/* Messages between the ranks of a comm go through queues in one process, rings in shared memory on one machine, else
 * the caller's transport. */
#include "api/links.h"

#include "base/struct_size.h"
#include "net/hub.h"
#include "net/shm.h"

#include <stdlib.h>

enum { RING_MOST = 1 << 20, RING_LEAST = 4096, RINGS_TARGET = 16 << 20 };

static choir_status inherit(struct bootstrap *b)
{
	for (int i = 0; i < b->join->n_local; i++)
		b->messengers[i] = messenger_retain(b->join->parents[i]->messenger);
	return CHOIR_SUCCESS;
}

static choir_status link_queues(struct bootstrap *b)
{
	choir_transport **ends = calloc((size_t)b->n, sizeof *ends);
	struct hub *hub;
	choir_status st;

	if (ends == NULL)
		return error_no_memory("endpoints", (size_t)b->n * sizeof *ends);
	st = hub_create(b->n, ends, &hub);
	for (int i = 0; i < b->n && st == CHOIR_SUCCESS; i++) {
		int rank = b->my_ranks[i];

		b->endpoint_of[rank] = rank;
		st = messenger_create(ends[rank], &b->messengers[i]);
		if (st == CHOIR_SUCCESS)
			ends[rank] = NULL;
	}
	for (int i = 0; i < b->n; i++)
		if (ends[i] != NULL)
			ends[i]->ops->destroy(ends[i]);
	free(ends);
	return st;
}

static choir_status use_one_messenger(struct bootstrap *b, choir_transport *transport)
{
	for (int r = 0; r < b->n; r++)
		b->endpoint_of[r] = b->process_of[r];
	TRY(messenger_create(transport, &b->messengers[0]));
	for (int i = 1; i < b->join->n_local; i++)
		b->messengers[i] = messenger_retain(b->messengers[0]);
	return CHOIR_SUCCESS;
}

/* The shared-memory transport uses these until its end. */
struct shm_ctx {
	struct arena *arena;
	int n;
	struct bell *bells[];
};

static void ring_process(void *ctx, int peer)
{
	struct shm_ctx *shm = ctx;

	bell_ring(shm->bells[peer]);
}

static choir_status take_ring(void *ctx, uint64_t off, uint64_t bytes)
{
	struct shm_ctx *shm = ctx;

	return arena_take_slots(shm->arena, 0, off, bytes);
}

static void release_rings(void *ctx)
{
	struct shm_ctx *shm = ctx;

	for (int p = 0; p < shm->n; p++)
		bell_close(shm->bells[p]);
	arena_release(shm->arena);
	free(shm);
}

static choir_status open_ring_arena(struct bootstrap *b, uint64_t bytes)
{
	struct arena_address mine = { 0 }, *all = calloc((size_t)b->n_processes, sizeof *all);
	choir_status st;

	st = all != NULL ? CHOIR_SUCCESS : error_no_memory("processes", (size_t)b->n_processes * sizeof *all);
	if (st == CHOIR_SUCCESS && b->me == 0)
		st = arena_create_growing(1, 1, bytes, &b->ring_arena);
	if (st == CHOIR_SUCCESS && b->me == 0)
		st = arena_take_slots(b->ring_arena, 0, 0, shm_first_bytes(b->n_processes));
	if (st == CHOIR_SUCCESS && b->me == 0)
		arena_address(b->ring_arena, &mine);
	st = bootstrap_gather(b, st, &mine, sizeof mine, all);
	if (st == CHOIR_SUCCESS && b->me != 0)
		st = arena_open(&all[0], &b->ring_arena);
	free(all);
	return bootstrap_agree(b, st); /* process 0 keeps the memory until all have opened it */
}

static choir_status link_rings(struct bootstrap *b)
{
	uint64_t ring_bytes = RING_MOST, n = (uint64_t)b->n_processes;
	choir_transport *transport;
	struct shm_ctx *ctx;
	choir_status st = CHOIR_SUCCESS;

	while (ring_bytes > RING_LEAST && ring_bytes * n * n > RINGS_TARGET)
		ring_bytes /= 2;
	TRY(open_ring_arena(b, (shm_bytes(b->n_processes, ring_bytes) + 4095) / 4096 * 4096));
	ctx = calloc(1, sizeof *ctx + n * sizeof *ctx->bells);
	if (ctx == NULL)
		return error_no_memory("bells", n * sizeof *ctx->bells);
	ctx->n = b->n_processes;
	ctx->arena = arena_retain(b->ring_arena);
	for (int p = 0; p < b->n_processes && st == CHOIR_SUCCESS; p++)
		st = bell_open(&b->processes[p].bell, &ctx->bells[p]);
	if (st == CHOIR_SUCCESS)
		st = shm_create(arena_slot(ctx->arena, 0, 0), b->me, b->n_processes, ring_bytes, take_ring,
		                ring_process, release_rings, ctx, &transport);
	if (st != CHOIR_SUCCESS) {
		release_rings(ctx);
		return st;
	}
	st = use_one_messenger(b, transport);
	if (st != CHOIR_SUCCESS && b->messengers[0] == NULL)
		transport->ops->destroy(transport);
	return st;
}

#define LEAST_OPS (offsetof(choir_transport_ops, destroy) + sizeof((choir_transport_ops){ 0 }.destroy))

static choir_status check_ops(const char *call, const choir_transport_ops *ops)
{
	if (ops == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: transport->ops is null", call);
	if (!struct_size_fits(ops->struct_size, sizeof *ops) || ops->struct_size < LEAST_OPS)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: transport->ops->struct_size is %zu; this library knows %zu to %zu (use "
		                 "sizeof(choir_transport_ops))",
		                 call, ops->struct_size, LEAST_OPS, sizeof *ops);
	if (ops->name == NULL || ops->send == NULL || ops->test == NULL || ops->poll == NULL || ops->give == NULL ||
	    ops->abort == NULL || ops->destroy == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: transport->ops lacks its name or one of its first six calls",
		                 call);
	return CHOIR_SUCCESS;
}

/* Of a table that check_ops refuses no more is read than it says that there is. */
void links_drop_given(choir_transport *given)
{
	if (given != NULL && given->ops != NULL && given->ops->struct_size >= LEAST_OPS && given->ops->destroy != NULL)
		given->ops->destroy(given);
}

/* Plans are cut by it, so the ranks' plans would differ. */
static choir_status check_message_bytes(const struct bootstrap *b)
{
	unsigned long long first = b->processes[0].message_bytes;

	for (int p = 0; p < b->n_processes; p++) {
		unsigned long long bytes = b->processes[p].message_bytes;

		if (bytes > BOOTSTRAP_MOST_MESSAGE_BYTES)
			return error_set(CHOIR_ARGUMENT,
			                 "%s: process %d: transport->ops->message_bytes is %llu, at most %d",
			                 b->join->call, p, bytes, BOOTSTRAP_MOST_MESSAGE_BYTES);
		if (bytes != first)
			return error_set(
			    CHOIR_MISMATCH,
			    "%s: transport->ops->message_bytes is %llu of process 0 and %llu of process %d",
			    b->join->call, first, bytes, p);
	}
	return CHOIR_SUCCESS;
}

static choir_status link_transport(struct bootstrap *b)
{
	choir_transport *given = b->join->config->transport;

	for (int p = 0; p < b->n_processes; p++)
		if (!b->processes[p].has_transport)
			return error_set(CHOIR_UNSUPPORTED,
			                 "%s: the ranks are on machines that share no memory, and process %d brings no "
			                 "transport to join them (libchoir-mpi's choir_comm_create_gather does, from "
			                 "the same bootstrap)%s%s",
			                 b->join->call, p, b->apart[0] != '\0' ? ": " : "", b->apart);
	if (given->size != b->n_processes || given->rank != b->me)
		return error_set(CHOIR_ARGUMENT, "%s: the transport is endpoint %d of %d, this process is %d of %d",
		                 b->join->call, given->rank, given->size, b->me, b->n_processes);
	TRY(check_ops(b->join->call, given->ops));
	TRY(check_message_bytes(b));
	TRY(use_one_messenger(b, given));
	b->transport_used = true;
	return CHOIR_SUCCESS;
}

choir_status links_create(struct bootstrap *b)
{
	bool all_bring = true;

	if (b->join->parents != NULL)
		return inherit(b);
	if (b->n_processes == 1)
		return link_queues(b);
	for (int p = 0; p < b->n_processes; p++)
		all_bring &= b->processes[p].has_transport != 0;
	if (b->one_machine && (b->layout.n_nodes == 1 || !all_bring))
		return link_rings(b);
	return link_transport(b);
}
