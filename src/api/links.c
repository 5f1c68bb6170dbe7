/* SPDX-License-Identifier: MIT */
/* What carries messages between the ranks of a comm: queues in one process, FIFOs in shared memory on one machine, else the transport that the caller
 * gave. */
#include "api/meet.h"

#include "net/hub.h"
#include "net/shm.h"

#include <stdlib.h>

enum { FIFO_MOST = 1 << 20, FIFO_LEAST = 4096, FIFOS_TARGET = 16 << 20 };

static choir_status inherit(struct meeting *m)
{
	for (int i = 0; i < m->join->n_local; i++)
		m->pumps[i] = pump_retain(m->join->pumps[i]);
	return CHOIR_SUCCESS;
}

static choir_status link_queues(struct meeting *m)
{
	choir_transport **ends = calloc((size_t)m->n, sizeof *ends);
	struct hub *hub;
	choir_status st;

	if (ends == NULL)
		return error_no_memory("endpoints", (size_t)m->n * sizeof *ends);
	st = hub_create(m->n, ends, &hub);
	for (int i = 0; i < m->n && st == CHOIR_SUCCESS; i++) {
		int rank = m->my_ranks[i];

		m->endpoint_of[rank] = rank;
		st = pump_create(ends[rank], &m->pumps[i]);
		if (st == CHOIR_SUCCESS)
			ends[rank] = NULL;
	}
	for (int i = 0; i < m->n; i++)
		if (ends[i] != NULL)
			ends[i]->ops->destroy(ends[i]);
	free(ends);
	return st;
}

static choir_status use_one_pump(struct meeting *m, choir_transport *transport)
{
	for (int r = 0; r < m->n; r++)
		m->endpoint_of[r] = m->party_of[r];
	TRY(pump_create(transport, &m->pumps[0]));
	for (int i = 1; i < m->join->n_local; i++)
		m->pumps[i] = pump_retain(m->pumps[0]);
	return CHOIR_SUCCESS;
}

/* What the shared-memory transport needs as long as it lives. */
struct fifo_ctx {
	struct arena *arena;
	int n;
	struct bell *bells[];
};

static void ring_party(void *ctx, int peer)
{
	struct fifo_ctx *fifo = ctx;

	bell_ring(fifo->bells[peer]);
}

static void release_fifos(void *ctx)
{
	struct fifo_ctx *fifo = ctx;

	for (int p = 0; p < fifo->n; p++)
		bell_close(fifo->bells[p]);
	arena_release(fifo->arena);
	free(fifo);
}

static choir_status open_fifo_arena(struct meeting *m, uint64_t bytes)
{
	struct arena_address mine = { 0 }, *all = calloc((size_t)m->n_parties, sizeof *all);
	choir_status st;

	if (all == NULL)
		return error_no_memory("parties", (size_t)m->n_parties * sizeof *all);
	st = m->me == 0 ? arena_create(1, 1, bytes, &m->fifo_arena) : CHOIR_SUCCESS;
	if (st == CHOIR_SUCCESS && m->me == 0)
		arena_address(m->fifo_arena, &mine);
	st = meet_agree(m, st);
	if (st == CHOIR_SUCCESS)
		st = meet_gather(m, &mine, sizeof mine, all);
	if (st == CHOIR_SUCCESS && m->me != 0)
		st = arena_open(&all[0], &m->fifo_arena);
	free(all);
	return meet_agree(m, st); /* the memory is there as long as anybody has not opened it */
}

static choir_status link_fifos(struct meeting *m)
{
	uint64_t fifo = FIFO_MOST, n = (uint64_t)m->n_parties;
	choir_transport *transport;
	struct fifo_ctx *ctx;
	choir_status st = CHOIR_SUCCESS;

	while (fifo > FIFO_LEAST && fifo * n * n > FIFOS_TARGET)
		fifo /= 2;
	TRY(open_fifo_arena(m, (shm_bytes(m->n_parties, fifo) + 4095) / 4096 * 4096));
	ctx = calloc(1, sizeof *ctx + n * sizeof *ctx->bells);
	if (ctx == NULL)
		return error_no_memory("bells", n * sizeof *ctx->bells);
	ctx->n = m->n_parties;
	ctx->arena = arena_retain(m->fifo_arena);
	for (int p = 0; p < m->n_parties && st == CHOIR_SUCCESS; p++)
		st = bell_open(&m->hellos[p].bell, &ctx->bells[p]);
	if (st == CHOIR_SUCCESS)
		st = shm_create(arena_slot(ctx->arena, 0, 0), m->me, m->n_parties, fifo, ring_party, release_fifos, ctx, &transport);
	if (st != CHOIR_SUCCESS) {
		release_fifos(ctx);
		return st;
	}
	st = use_one_pump(m, transport);
	if (st != CHOIR_SUCCESS && m->pumps[0] == NULL)
		transport->ops->destroy(transport);
	return st;
}

static choir_status link_transport(struct meeting *m)
{
	choir_transport *given = m->join->config->transport;

	for (int p = 0; p < m->n_parties; p++)
		if (!m->hellos[p].has_transport)
			return error_set(
			    CHOIR_UNSUPPORTED,
			    "%s: the ranks are on machines that share no memory, and party %d brings no transport to join them (libchoir-mpi does)",
			    m->join->call, p);
	if (given->size != m->n_parties || given->rank != m->me)
		return error_set(CHOIR_ARGUMENT, "%s: the transport is endpoint %d of %d, this party is %d of %d", m->join->call, given->rank,
		                 given->size, m->me, m->n_parties);
	TRY(use_one_pump(m, given));
	m->transport_used = true;
	return CHOIR_SUCCESS;
}

choir_status meet_links(struct meeting *m)
{
	bool all_bring = true;

	if (m->join->pumps != NULL)
		return inherit(m);
	if (m->n_parties == 1)
		return link_queues(m);
	for (int p = 0; p < m->n_parties; p++)
		all_bring &= m->hellos[p].has_transport != 0;
	if (m->one_machine && (m->layout.n_nodes == 1 || !all_bring))
		return link_fifos(m);
	return link_transport(m);
}
