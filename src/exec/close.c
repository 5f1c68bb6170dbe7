/* SPDX-License-Identifier: MIT */
/* The end of a comm: all but its shell (exec/comm.c) goes.  What it frees is made by fill in api/join.c. */
#include "base/wait.h"
#include "exec/engine.h"
#include "exec/keyed.h"
#include "exec/call_cache.h"
#include "exec/prepared.h"
#include "exec/steps.h"
#include "exec/submit.h"
#include "exec/symmetric.h"

#include <stdlib.h>

static void free_pool(struct choir_comm *comm)
{
	struct run *run, *next;

	pthread_mutex_lock(&comm->submission.lock);
	run = comm->submission.pool;
	comm->submission.pool = NULL;
	pthread_mutex_unlock(&comm->submission.lock);
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

static void stop_engine(struct choir_comm *comm)
{
	while (!engine_enter(&comm->engine))
		wait_yield();
	submit_refuse(comm);
	atomic_store(&comm->engine.closed, true);
	/* Threads between comm_enter and comm_leave came in before that, and wait for nothing: all calls are over. */
	while (atomic_load(&comm->uses.inside) > 0)
		wait_yield();
	free_pool(comm);
	free_inline_runs(comm);
	steps_free_boards(comm);
	call_cache_drop(comm);
	engine_leave(&comm->engine);
}

static void close_peers(struct choir_comm *comm)
{
	for (int i = 0; i < comm->n_watched; i++) {
		bell_close(comm->peers[i].bell);
		peer_watch_close(comm->peers[i].watch);
		free(comm->peers[i].ranks);
	}
	free(comm->peers);
	comm->peers = NULL;
	comm->n_peers = comm->n_watched = 0;
}

/* A comm whose creation failed halfway has zeros where it lacks something. */
static void give_back(struct choir_comm *comm)
{
	leave_family(comm);
	if (comm->messenger != NULL)
		messenger_detach(comm->messenger, comm->context, comm->rank);
	inbox_fini(&comm->inbox); /* its messages are the messenger's memory */
	messenger_release(comm->messenger);
	comm->messenger = NULL;
	plan_cache_fini(&comm->plans);
	rules_free(&comm->rules);
	symmetric_close(comm);
	keyed_destroy(comm->keyed);
	free(comm->options);
	comm->options = NULL;
	comm->keyed = NULL;
	dev_memory_free(comm->device, &comm->engine.arena.mem);
	dev_buffer_free(comm->engine.arena.pinned);
	arena_release(comm->arena);
	comm->arena = NULL;
	comm->poison = NULL;
	comm->controls = NULL;
	comm->lanes = NULL;
	close_peers(comm);
	free(comm->endpoint_of);
	comm->endpoint_of = NULL;
	free(comm->engine.arena.done_seen);
	comm->engine.arena.done_seen = NULL;
}

void comm_close(struct choir_comm *comm)
{
	if (atomic_load(&comm->engine.closed))
		return;
	stop_engine(comm);
	give_back(comm);
	engine_fini(comm);
}
