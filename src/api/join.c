/* SPDX-License-Identifier: MIT */
/* Design notes.  A comm takes three gathers: facts of processes and ranks, addresses of the nodes' arenas, and
 * whether each process could map its own.  A split takes the second only: its claims have the facts, and processes that
 * are one node of the parent can map each other's memory.  Where a process has several ranks, their facts are a gather
 * more, and the addresses, if it leads several nodes.  A process that could not map its arena becomes a node of its
 * own, and the last two gathers are repeated.  Every process computes the same layout from the same bytes.  What failed
 * before a gather is told in it, and at the end all processes agree that all have their comms. */
#include "api/join.h"

#include "api/bootstrap.h"
#include "api/links.h"
#include "api/options.h"
#include "api/rules_file.h"
#include "base/config.h"
#include "base/log.h"
#include "exec/engine.h"
#include "exec/fork.h"
#include "exec/layout.h"
#include "exec/progress.h"
#include "exec/keyed.h"
#include "exec/messages.h"
#include "node/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer calls go in chunks: shorter chunks spend their time on commands, longer ones do not stay in a cache. */
enum { DEVICE_PLAN_BYTES = 8 << 20 };

choir_status join_check_order(const char *call, const choir_comm_config *config)
{
	if (config->order_ranks == 0 || config->order_ranks == 1)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "%s: config->order_ranks is %d: 0 or 1 is wanted", call, config->order_ranks);
}

choir_status join_config(const char *call, const choir_comm_config *given, choir_comm_config *out)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int64_t ranks_per_node, order_ranks;

	config_warn_unknown();
	if (given != NULL) {
		if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof config)
			return error_set(
			    CHOIR_ARGUMENT,
			    "%s: config->struct_size is %zu; this library knows %zu (use CHOIR_COMM_CONFIG_INIT)", call,
			    given->struct_size, sizeof config);
		memcpy(&config, given, given->struct_size);
		config.struct_size = sizeof config;
	}
	log_start();
	if (config.deadline_ms < 0 || config.warn_ms < 0 || config.ranks_per_node < 0)
		return error_set(CHOIR_ARGUMENT, "%s: negative value in config", call);
	if (config.deadline_ms == 0)
		TRY(config_int("CHOIR_DEADLINE_MS", 1, INT64_MAX / 2000000, 600000, &config.deadline_ms));
	if (config.warn_ms == 0)
		TRY(config_int("CHOIR_WARN_MS", 1, INT64_MAX / 2000000, 30000, &config.warn_ms));
	TRY(config_int("CHOIR_RANKS_PER_NODE", 0, 1 << 20, config.ranks_per_node, &ranks_per_node));
	if (config.ranks_per_node == 0)
		config.ranks_per_node = (int)ranks_per_node;
	TRY(join_check_order(call, &config));
	TRY(config_int("CHOIR_DETERMINISTIC", 0, 1, 0, &order_ranks));
	config.order_ranks |= (int)order_ranks;
	if (config.rules == NULL)
		config.rules = config_text("CHOIR_RULES");
	if (config.options != NULL)
		TRY(options_check(call, config.options));
	*out = config;
	return CHOIR_SUCCESS;
}

static bool is_mine(const struct bootstrap *b, const struct process *process)
{
	const struct process *mine = &b->processes[b->me];

	return process->pid == mine->pid && process->bell.nonce == mine->bell.nonce;
}

/* To the peer of that process among those from `first` on, which is added if it is not there. */
static choir_status add_rank(struct choir_comm *comm, int first, const struct process *process, int rank)
{
	struct comm_peer *peer = &comm->peers[first], *end = &comm->peers[comm->n_watched];
	int *ranks;

	while (peer < end && peer->pid != process->pid)
		peer++;
	if (peer == end) {
		TRY(bell_open(&process->bell, &peer->bell));
		peer->pid = process->pid;
		peer->watch = peer_watch_open(process->pid);
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
 * nodes those are watched whose bell can be opened: the number of a process in another container is not its number
 * here. */
static choir_status find_peers(struct bootstrap *b, struct choir_comm *comm)
{
	comm->peers = calloc(2 * (size_t)b->n_processes, sizeof *comm->peers);
	if (comm->peers == NULL)
		return error_no_memory("peers", 2 * (size_t)b->n_processes * sizeof *comm->peers);
	for (int local_rank = 0; local_rank < comm->node_size; local_rank++) {
		int rank = comm_rank_at(comm, local_rank);
		const struct process *process = &b->processes[b->process_of[rank]];

		if (is_mine(b, process))
			comm->ring_mine |= rank != comm->rank;
		else
			TRY(add_rank(comm, 0, process, rank));
	}
	comm->n_peers = comm->n_watched;
	for (int rank = 0; rank < comm->n; rank++) {
		const struct process *process = &b->processes[b->process_of[rank]];

		if (!comm_is_near(comm, rank) && process->machine == b->processes[b->me].machine &&
		    !is_mine(b, process) && add_rank(comm, comm->n_peers, process, rank) == CHOIR_NO_MEMORY)
			return CHOIR_NO_MEMORY;
	}
	return CHOIR_SUCCESS;
}

static choir_status init_locks(struct choir_comm *comm)
{
	if (pthread_mutex_init(&comm->failure.lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for a comm");
	TRY(inbox_init(&comm->inbox));
	TRY(plan_cache_init(&comm->plans));
	return engine_init(comm);
}

static choir_status fill(struct bootstrap *b, int local, struct choir_comm *comm)
{
	const struct join *join = b->join;
	const struct layout *layout;

	comm->rank = b->my_ranks[local];
	comm->n = b->n;
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
	comm->far_cores = b->far_cores;
	comm->one_process = b->one_process;
	comm->device_bytes = b->one_context ? DEVICE_PLAN_BYTES : 0;
	comm->command_bytes = b->command_bytes;
	comm->cache_bytes = cache_shared_bytes();
	comm->device = dev_retain(join->devices[local]);
	TRY(init_locks(comm));
	TRY(layout_build(b->n, b->node_of, &comm->layout));
	layout = &comm->layout;
	TRY(rules_read(join->config->rules, &comm->rules));
	if (join->config->options != NULL && (comm->options = strdup(join->config->options)) == NULL)
		return error_no_memory("options", strlen(join->config->options) + 1);
	comm->local_rank = layout->local_rank_of[comm->rank];
	comm->node_size = layout->node_size[layout->node_of[comm->rank]];
	comm->engine.arena.done_seen = calloc((size_t)comm->node_size, sizeof *comm->engine.arena.done_seen);
	if (comm->engine.arena.done_seen == NULL)
		return error_no_memory("lanes", (size_t)b->n * sizeof *comm->engine.arena.done_seen);
	comm->arena = arena_retain(b->arenas[layout->node_of[comm->rank]]);
	comm->poison = arena_poison_of(comm->arena);
	comm->controls = arena_control(comm->arena, 0);
	comm->lanes = arena_lane(comm->arena, 0, 0);
	atomic_store(&comm_control(comm, comm->local_rank)->pid, b->processes[b->me].pid);
	TRY(find_peers(b, comm));
	comm->endpoint_of = calloc((size_t)b->n, sizeof *comm->endpoint_of);
	if (comm->endpoint_of == NULL)
		return error_no_memory("endpoints", (size_t)b->n * sizeof *comm->endpoint_of);
	memcpy(comm->endpoint_of, b->endpoint_of, (size_t)b->n * sizeof *comm->endpoint_of);
	if (join->config->keyed)
		TRY(keyed_create(comm, &comm->keyed));
	comm->messenger = messenger_retain(b->messengers[local]);
	TRY(messenger_attach(comm->messenger, comm->context, comm->rank, messages_deliver, comm));
	return progress_add(comm);
}

static choir_status make_family(int n, choir_comm **comms)
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

static choir_status make_comms(struct bootstrap *b, choir_comm **comms)
{
	for (int i = 0; i < b->join->n_local; i++) {
		comms[i] = calloc(1, sizeof *comms[i]);
		if (comms[i] == NULL)
			return error_no_memory("a comm", sizeof *comms[i]);
		atomic_init(&comms[i]->uses.refs, 1);
		TRY(fill(b, i, comms[i]));
	}
	return make_family(b->join->n_local, comms);
}

choir_status join_comms(const struct join *join, choir_comm **comms_out)
{
	struct bootstrap bootstrap = { .join = join };
	choir_comm **comms = calloc((size_t)join->n_local, sizeof *comms);
	choir_status st;

	st = bootstrap_begin(&bootstrap);
	if (st == CHOIR_SUCCESS)
		st = bootstrap_run(&bootstrap,
		                   comms != NULL ? CHOIR_SUCCESS
		                                 : error_no_memory("comms", (size_t)join->n_local * sizeof *comms));
	if (st == CHOIR_SUCCESS && bootstrap.apart[0] != '\0' && bootstrap.me == 0)
		log_text(LOG_WARNING, "%s: %s, so their messages take the transport", join->call, bootstrap.apart);
	if (st == CHOIR_SUCCESS)
		st = links_create(&bootstrap);
	if (st == CHOIR_SUCCESS)
		st = make_comms(&bootstrap, comms);
	st = bootstrap_agree(&bootstrap, st); /* all processes have their comms, or none keeps one */
	if (st == CHOIR_SUCCESS)
		memcpy(comms_out, comms, (size_t)join->n_local * sizeof *comms);
	for (int i = 0; comms != NULL && i < join->n_local && st != CHOIR_SUCCESS; i++)
		if (comms[i] != NULL) {
			if (comms[i]->listing.listed)
				progress_remove(comms[i]);
			comm_close(comms[i]);
			comm_release(comms[i]);
		}
	bootstrap_end(&bootstrap);
	free(comms);
	return st;
}
