/* SPDX-License-Identifier: MIT */
/* How a comm is filled, and how all of it but the shell (exec/comm.c) goes again. */
#include "api/comm_life.h"

#include "api/nodes.h"
#include "api/rules_file.h"
#include "base/fork.h"
#include "base/kept_error.h"
#include "base/wait.h"
#include "exec/board.h"
#include "exec/call_cache.h"
#include "exec/drain.h"
#include "exec/engine.h"
#include "exec/keyed.h"
#include "exec/layout.h"
#include "exec/messages.h"
#include "exec/prepared.h"
#include "exec/progress.h"
#include "exec/relatives.h"
#include "exec/steps.h"
#include "exec/submit.h"
#include "exec/symmetric.h"
#include "node/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer calls go in chunks: shorter chunks spend their time on commands, longer ones do not stay in a cache. */
enum { DEVICE_PLAN_BYTES = 8 << 20 };

/* --- it is filled --- */

static bool is_mine(const struct bootstrap *b, const struct process *process)
{
	const struct process *mine = &b->processes[b->me];

	return process->id == mine->id && process->bell.nonce == mine->bell.nonce;
}

/* To the peer of that process among those from `first` on, which is added if it is not there. */
static choir_status add_rank(struct choir_comm *comm, int first, const struct process *process, int rank)
{
	struct comm_process *peer = &comm->processes[first], *end = &comm->processes[comm->n_watched];
	int *ranks;

	while (peer < end && peer->process != process->id)
		peer++;
	if (peer == end) {
		TRY(bell_open(&process->bell, &peer->bell));
		peer->process = process->id;
		comm->n_watched++;
	}
	ranks = realloc(peer->ranks, ((size_t)peer->n_ranks + 1) * sizeof *ranks);
	if (ranks == NULL)
		return error_no_memory("peers", sizeof *ranks);
	peer->ranks = ranks;
	peer->ranks[peer->n_ranks++] = rank;
	return CHOIR_SUCCESS;
}

/* The processes other than mine: their bells, and what tells that they died.  Of ranks that the layout put on other
 * nodes those are watched whose bell can be opened. */
static choir_status find_peers(struct bootstrap *b, struct choir_comm *comm)
{
	comm->processes = calloc(2 * (size_t)b->n_processes, sizeof *comm->processes);
	if (comm->processes == NULL)
		return error_no_memory("peers", 2 * (size_t)b->n_processes * sizeof *comm->processes);
	for (int local_rank = 0; local_rank < comm->node_size; local_rank++) {
		int rank = comm_rank_at(comm, local_rank);
		const struct process *process = &b->processes[b->process_of[rank]];

		if (is_mine(b, process))
			comm->wake_mine |= rank != comm->rank;
		else
			TRY(add_rank(comm, 0, process, rank));
	}
	comm->n_near = comm->n_watched;
	for (int rank = 0; rank < comm->n; rank++) {
		const struct process *process = &b->processes[b->process_of[rank]];

		if (!comm_is_near(comm, rank) && process->machine == b->processes[b->me].machine &&
		    !is_mine(b, process) && add_rank(comm, comm->n_near, process, rank) == CHOIR_NO_MEMORY)
			return CHOIR_NO_MEMORY;
	}
	return CHOIR_SUCCESS;
}

static bool takes_options(const struct join *join, int local)
{
	const char *before = join->parents != NULL ? join->parents[local]->options : NULL, *now = join->config->options;

	return before != NULL && now != NULL && strcmp(before, now) == 0;
}

static choir_status init_locks(struct choir_comm *comm)
{
	if (pthread_mutex_init(&comm->failure.lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for a comm");
	TRY(inbox_init(&comm->inbox));
	TRY(plan_cache_init(&comm->plans));
	return engine_init(comm);
}

static uint64_t find_far_ranks(const struct bootstrap *b, const struct choir_comm *comm)
{
	uint64_t far = 0;

	for (int r = 0; b->far_cores && r < comm->node_size && r < 64; r++)
		if (nodes_are_far(b, b->me, b->process_of[comm_rank_at(comm, r)]))
			far |= UINT64_C(1) << r;
	return far;
}

choir_status comm_fill(struct bootstrap *b, int local, struct choir_comm *comm)
{
	const struct join *join = b->join;
	const struct layout *layout;

	comm->rank = b->my_ranks[local];
	comm->n = b->n;
	comm->process = b->processes[b->me].id;
	comm->context = b->processes[0].context;
	fork_watch();
	comm->generation = fork_generation();
	snprintf(comm->name, sizeof comm->name, "%s", join->config->name != NULL ? join->config->name : "comm");
	snprintf(comm->apart, sizeof comm->apart, "%s", b->apart);
	comm->deadline_ms = join->config->deadline_ms;
	comm->warn_ms = join->config->warn_ms;
	comm->order_ranks = join->config->order_ranks != 0;
	comm->slot_bytes = b->slots.slot_bytes;
	comm->fallback_bytes = b->slots.fallback_bytes;
	comm->message_bytes = messenger_message_bytes(b->messengers[local], BOOTSTRAP_MESSAGE_BYTES);
	comm->host_reduce_only = b->mixed_devices;
	comm->crowded = b->crowded;
	if (comm->crowded)
		bell_leave_fences_to_ringers(bell_mine());
	comm->far_cores = b->far_cores;
	comm->one_process = b->one_process;
	comm->device_bytes = b->one_context ? DEVICE_PLAN_BYTES : 0;
	comm->command_bytes = b->command_bytes;
	comm->far_memory = b->far_memory;
	comm->peer_percent = b->peer_percent;
	comm->core_cache_bytes = b->core_cache_bytes;
	comm->cache_bytes = cache_shared_bytes(cache_machine());
	comm->device = dev_retain(join->devices[local]);
	TRY(init_locks(comm));
	TRY(layout_build(b->n, b->node_of, &comm->layout));
	layout = &comm->layout;
	TRY(rules_read(join->config->rules, &comm->rules));
	comm->options_taken = takes_options(join, local);
	if (join->config->options != NULL && (comm->options = strdup(join->config->options)) == NULL)
		return error_no_memory("options", strlen(join->config->options) + 1);
	comm->local_rank = layout->local_rank_of[comm->rank];
	comm->node_size = layout->node_size[layout->node_of[comm->rank]];
	comm->far_ranks = find_far_ranks(b, comm);
	comm->engine.arena.done_seen = calloc((size_t)comm->node_size, sizeof *comm->engine.arena.done_seen);
	if (comm->engine.arena.done_seen == NULL)
		return error_no_memory("lanes", (size_t)b->n * sizeof *comm->engine.arena.done_seen);
	comm->arena = arena_retain(b->arenas[layout->node_of[comm->rank]]);
	comm->poison = arena_poison_of(comm->arena);
	comm->controls = arena_control(comm->arena, 0);
	comm->lanes = arena_lane(comm->arena, 0, 0);
	atomic_store(&comm_control(comm, comm->local_rank)->process, comm->process);
	TRY(find_peers(b, comm));
	comm->endpoint_of = calloc(2 * (size_t)b->n, sizeof *comm->endpoint_of);
	if (comm->endpoint_of == NULL)
		return error_no_memory("endpoints", 2 * (size_t)b->n * sizeof *comm->endpoint_of);
	memcpy(comm->endpoint_of, b->endpoint_of, (size_t)b->n * sizeof *comm->endpoint_of);
	comm->origin_of = comm->endpoint_of + b->n;
	for (int r = 0; r < b->n; r++)
		comm->origin_of[r] = join->parents != NULL ? join->parents[local]->origin_of[join->members[r]] : r;
	if (join->config->keyed)
		TRY(keyed_create(comm, &comm->keyed));
	TRY(relatives_join(comm, join->parents != NULL ? join->parents[local] : NULL));
	comm->messenger = messenger_retain(b->messengers[local]);
	TRY(messenger_attach(comm->messenger, comm->context, comm->rank, messages_deliver, comm));
	return progress_add(comm);
}

choir_status comm_make_family(int n, choir_comm **comms)
{
	struct comm_family *family;

	if (n == 1)
		return CHOIR_SUCCESS;
	family = calloc(1, sizeof *family);
	if (family == NULL || (family->members = malloc((size_t)n * sizeof *comms)) == NULL ||
	    pthread_mutex_init(&family->lock, NULL) != 0) {
		free(family != NULL ? family->members : NULL);
		free(family);
		return error_no_memory("a family of comms", sizeof *family);
	}
	atomic_init(&family->refs, n);
	family->n = n;
	memcpy(family->members, comms, (size_t)n * sizeof *comms);
	for (int i = 0; i < n; i++)
		comms[i]->family = family;
	return CHOIR_SUCCESS;
}

/* --- it goes --- */

static void free_pool(struct choir_comm *comm, struct run_pool *pool)
{
	struct run *run, *next;

	pthread_mutex_lock(&comm->submission.lock);
	run = pool->first;
	*pool = (struct run_pool){ 0 };
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
	/* Threads between comm_enter and comm_leave came in before that.  All calls are over, so they wait for nothing
	 * but builds of kernels. */
	while (atomic_load(&comm->uses.inside) > 0 || atomic_load(&comm->uses.flushing) > 0)
		wait_yield();
	free_pool(comm, &comm->submission.pool);
	free_pool(comm, &comm->submission.bare);
	free_inline_runs(comm);
	board_free_spares(comm);
	call_cache_drop(comm);
	engine_leave(&comm->engine);
}

static void close_peers(struct choir_comm *comm)
{
	for (int i = 0; i < comm->n_watched; i++) {
		bell_close(comm->processes[i].bell);
		free(comm->processes[i].ranks);
	}
	free(comm->processes);
	comm->processes = NULL;
	comm->n_near = comm->n_watched = 0;
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
	relatives_leave(comm);
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
	comm->endpoint_of = comm->origin_of = NULL;
	free(comm->engine.arena.done_seen);
	comm->engine.arena.done_seen = NULL;
}

void comm_discard_told(choir_status status, size_t n, struct choir_comm *const *comms)
{
	char why[ERROR_TEXT_BYTES];
	struct kept_error failure;

	error_keep(&failure, status);
	for (size_t i = 0; i < n; i++) {
		if (comms[i] == NULL)
			continue;
		snprintf(why, sizeof why, "%s: rank %d: %.400s", comms[i]->name, comms[i]->rank, failure.text);
		comm_fail(comms[i], status, why);
		drain_all(comms[i], NEWS_MS);
		comm_discard(comms[i]);
	}
	(void)error_again(&failure);
}

void comm_discard(struct choir_comm *comm)
{
	if (comm == NULL)
		return;
	if (comm->listing.listed)
		progress_remove(comm);
	stop_engine(comm);
	give_back(comm);
	engine_fini(comm);
	comm_release(comm);
}
