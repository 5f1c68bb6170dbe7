/* SPDX-License-Identifier: MIT */
#include "exec/comm.h"

#include "base/log.h"
#include "base/wait.h"
#include "exec/engine.h"
#include "exec/layout.h"
#include "exec/prepared.h"
#include "exec/steps.h"
#include "exec/symmetric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct choir_comm *comm_retain(struct choir_comm *comm)
{
	atomic_fetch_add_explicit(&comm->refs, 1, memory_order_relaxed);
	return comm;
}

void comm_release(struct choir_comm *comm)
{
	if (comm == NULL || atomic_fetch_sub_explicit(&comm->refs, 1, memory_order_acq_rel) != 1)
		return;
	comm_close(comm);
	engine_fini(comm);
	layout_free(&comm->layout);
	choir_device_destroy(comm->device); /* runs that a group held back gave their memory back to it */
	free(comm);
}

bool comm_enter(struct choir_comm *comm)
{
	atomic_fetch_add(&comm->users, 1);
	if (!atomic_load(&comm->engine.closed))
		return true;
	comm_leave(comm);
	return false;
}

void comm_leave(struct choir_comm *comm)
{
	atomic_fetch_sub(&comm->users, 1);
}

static void free_pool(struct choir_comm *comm)
{
	struct run *run, *next;

	pthread_mutex_lock(&comm->engine.submit);
	run = comm->engine.pool;
	comm->engine.pool = NULL;
	pthread_mutex_unlock(&comm->engine.submit);
	for (; run != NULL; run = next) {
		next = run->next;
		steps_free(run);
		free(run);
	}
}

static void free_inline_runs(struct choir_comm *comm)
{
	for (int kind = 0; kind < INLINE_KINDS; kind++) {
		struct run *run = comm->engine.inline_runs[kind];

		comm->engine.inline_runs[kind] = NULL;
		if (run == NULL)
			continue;
		prepared_unbind(run);
		steps_free(run);
		choir_event_release(run->event);
		free(run);
	}
}

static void leave_family(struct choir_comm *comm)
{
	struct comm_family *family = comm->family;

	if (family == NULL)
		return;
	comm->family = NULL;
	pthread_mutex_lock(&family->lock);
	for (int i = 0; i < family->n; i++)
		if (family->members[i] == comm)
			family->members[i] = NULL;
	pthread_mutex_unlock(&family->lock);
	if (atomic_fetch_sub(&family->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&family->lock);
	free(family->members);
	free(family);
}

void comm_close(struct choir_comm *comm)
{
	if (comm->device == NULL || atomic_load(&comm->engine.closed)) /* never made, or closed before */
		return;
	while (!engine_enter(&comm->engine))
		wait_yield();
	comm->engine.closing = true;
	atomic_store(&comm->engine.closed, true);
	while (atomic_load(&comm->users) > 0) /* they came in before that, and wait for nothing: all calls are over */
		wait_yield();
	free_pool(comm);
	free_inline_runs(comm);
	prepared_drop(comm);
	engine_leave(&comm->engine);
	leave_family(comm);
	if (comm->pump != NULL)
		pump_detach(comm->pump, comm->context, comm->rank);
	inbox_fini(&comm->inbox); /* its messages are the pump's memory */
	pump_release(comm->pump);
	comm->pump = NULL;
	plan_cache_fini(&comm->plans);
	rules_free(&comm->rules);
	symmetric_close(comm);
	dev_memory_free(comm->device, &comm->arena_mem);
	arena_release(comm->arena);
	comm->arena = NULL;
	comm->controls = NULL;
	comm->lanes = NULL;
	for (int i = 0; i < comm->n_peers; i++) {
		bell_close(comm->peers[i].bell);
		peer_watch_close(comm->peers[i].watch);
		free(comm->peers[i].ranks);
	}
	free(comm->peers);
	comm->peers = NULL;
	comm->n_peers = 0;
	free(comm->endpoint_of);
	comm->endpoint_of = NULL;
	free(comm->done_seen);
	comm->done_seen = NULL;
}

void comm_ring_node(struct choir_comm *comm)
{
	for (int i = 0; i < comm->n_peers; i++)
		bell_ring(comm->peers[i].bell);
	if (comm->ring_mine)
		bell_ring(bell_mine());
}

void comm_ring_self(void *unused)
{
	(void)unused;
	bell_ring(bell_mine());
}

void comm_look(struct choir_comm *comm)
{
	char text[ERROR_TEXT_BYTES];
	choir_status st;

	if (comm->arena == NULL || atomic_load_explicit(&comm->failed, memory_order_relaxed) != CHOIR_SUCCESS)
		return;
	st = arena_poisoned(comm->arena, text, sizeof text);
	if (st != CHOIR_SUCCESS)
		comm_fail_from_peer(comm, st, text);
}

static choir_status failure(const struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load_explicit(&comm->failed, memory_order_acquire);

	return st == CHOIR_SUCCESS ? st : error_set(st, "%s", comm->fail_text);
}

choir_status comm_failure(struct choir_comm *comm)
{
	if (comm_enter(comm)) {
		comm_look(comm);
		comm_leave(comm);
	}
	return failure(comm);
}

choir_status comm_failure_inside(struct choir_comm *comm)
{
	comm_look(comm);
	return failure(comm);
}

/* True for the first one, whose text it is. */
static bool set_failure(struct choir_comm *comm, choir_status status, const char *text)
{
	bool first;

	pthread_mutex_lock(&comm->fail_lock);
	first = atomic_load(&comm->failed) == CHOIR_SUCCESS;
	if (first) {
		snprintf(comm->fail_text, sizeof comm->fail_text, "%s", text);
		atomic_store_explicit(&comm->failed, status, memory_order_release);
	}
	pthread_mutex_unlock(&comm->fail_lock);
	if (first)
		bell_ring(bell_mine());
	return first;
}

static void tell_network(struct choir_comm *comm, choir_status status)
{
	struct wire_header header = { .magic = WIRE_MAGIC, .kind = WIRE_FAIL, .comm = comm->context, .key = status, .src = comm->rank };
	size_t bytes = strlen(comm->fail_text) + 1;

	header.bytes_check = (uint32_t)bytes;
	for (int rank = 0; rank < comm->n; rank++) {
		if (rank == comm->rank || comm->layout.node_of[rank] == comm->layout.node_of[comm->rank])
			continue;
		header.dst = rank;
		if (pump_send(comm->pump, comm->endpoint_of[rank], &header, comm->fail_text, bytes, NULL) != CHOIR_SUCCESS)
			return; /* the transport is gone: the others have their deadlines */
	}
}

void comm_fail(struct choir_comm *comm, choir_status status, const char *text)
{
	if (!set_failure(comm, status, text))
		return;
	log_text(LOG_ERROR, "%s", comm->fail_text);
	arena_poison(comm->arena, status, comm->fail_text);
	comm_ring_node(comm);
	if (comm->pump != NULL)
		tell_network(comm, status);
}

void comm_fail_from_peer(struct choir_comm *comm, choir_status status, const char *text)
{
	if (!set_failure(comm, status, text))
		return;
	arena_poison(comm->arena, status, comm->fail_text); /* a message came to one rank of the node: the others learn it here */
	comm_ring_node(comm);
}
