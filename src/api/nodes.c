/* SPDX-License-Identifier: MIT */
#include "api/nodes.h"

#include "exec/layout.h"
#include "node/cache.h"
#include "node/porter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if the caller's layout (ranks_per_node, or a split of a comm) puts both ranks on one node. */
static bool same_group(const struct bootstrap *b, int first, int second)
{
	const struct join *join = b->join;
	int per_node = b->processes[0].ranks_per_node;

	if (join->parent_nodes != NULL)
		return join->parent_nodes->node_of[join->members[first]] ==
		       join->parent_nodes->node_of[join->members[second]];
	return per_node == 0 || first / per_node == second / per_node;
}

/* The cores that the processes of this machine may use together; returns how many ranks run there. */
static int cores_here(const struct bootstrap *b, cpu_set_t *cores_p)
{
	int ranks = 0;
	cpu_set_t cores;

	CPU_ZERO(cores_p);
	for (int p = 0; p < b->n_processes; p++) {
		if (b->processes[p].machine != b->processes[b->me].machine)
			continue;
		ranks += b->processes[p].n_local;
		memcpy(&cores, b->processes[p].cores, sizeof cores);
		CPU_OR(cores_p, cores_p, &cores);
	}
	return ranks;
}

static void look_at_cores(struct bootstrap *b)
{
	cpu_set_t cores;
	int ranks = cores_here(b, &cores), n = CPU_COUNT(&cores);

	b->crowded = n > 0 && ranks > n;
	b->far_cores = !cache_is_shared(cache_machine(), &cores);
}

bool nodes_are_far(const struct bootstrap *b, int process, int other)
{
	cpu_set_t cores, theirs;

	memcpy(&cores, b->processes[process].cores, sizeof cores);
	memcpy(&theirs, b->processes[other].cores, sizeof theirs);
	CPU_OR(&cores, &cores, &theirs);
	return !cache_is_shared(cache_machine(), &cores);
}

/* own[p]: process p could not map its node's arena, so it is a node of its own. */
static choir_status place_ranks(struct bootstrap *b, const unsigned char *own)
{
	for (int r = 0; r < b->n; r++) {
		int p = b->process_of[r], first = 0;

		for (; first < r; first++) {
			int q = b->process_of[first];
			bool together =
			    p == q || (!own[p] && !own[q] && b->processes[p].machine == b->processes[q].machine);

			if (together && same_group(b, first, r))
				break;
		}
		b->node_of[r] = first;
	}
	look_at_cores(b);
	layout_free(&b->layout);
	TRY(layout_build(b->n, b->node_of, &b->layout));
	b->slots = slot_sizes_of(b->layout.max_node_size, b->command_bytes > 0);
	return CHOIR_SUCCESS;
}

static int leader_of(const struct bootstrap *b, int node)
{
	return b->process_of[b->layout.node_ranks[b->layout.node_first[node]]];
}

static bool on_node(const struct bootstrap *b, int process, int node)
{
	for (int i = b->layout.node_first[node]; i < b->layout.node_first[node + 1]; i++)
		if (b->process_of[b->layout.node_ranks[i]] == process)
			return true;
	return false;
}

void nodes_drop(struct bootstrap *b)
{
	for (int g = 0; b->arenas != NULL && g < b->layout.n_nodes; g++)
		arena_release(b->arenas[g]);
	free(b->arenas);
	b->arenas = NULL;
}

/* The arenas of the nodes that this process leads; mine: [n_nodes] their addresses. */
static choir_status create_arenas(struct bootstrap *b, struct node_offer *offer, struct arena_address *mine)
{
	bool first = true;

	for (int g = 0; g < b->layout.n_nodes; g++) {
		if (leader_of(b, g) != b->me)
			continue;
		TRY(arena_create_growing(b->layout.node_size[g], COMM_LANES, b->slots.lane_bytes, &b->arenas[g]));
		arena_address(b->arenas[g], &mine[g]);
		if (first)
			offer->arena = mine[g];
		first = false;
	}
	return CHOIR_SUCCESS;
}

/* Is there a process that leads several nodes?  Its offer has the address of one arena. */
static bool leads_several(const struct bootstrap *b)
{
	for (int g = 0; g < b->layout.n_nodes && b->n_processes > 1; g++)
		for (int before = 0; before < g; before++)
			if (leader_of(b, before) == leader_of(b, g))
				return true;
	return false;
}

/* Maps the arenas of the nodes on which this process has ranks. */
static choir_status open_arenas(struct bootstrap *b, const struct arena_address *all)
{
	int n_nodes = b->layout.n_nodes;

	for (int g = 0; g < n_nodes; g++) {
		int leader = leader_of(b, g);

		if (b->arenas[g] == NULL && on_node(b, b->me, g))
			TRY(arena_open(all != NULL ? &all[leader * n_nodes + g] : &b->offers[leader].arena,
			               &b->arenas[g]));
	}
	return CHOIR_SUCCESS;
}

/* Can this process ring the other ones of its machine? */
static bool opens_bells(const struct bootstrap *b)
{
	for (int p = 0; p < b->n_processes; p++) {
		struct bell *bell;

		if (b->processes[p].id == b->processes[b->me].id ||
		    b->processes[p].machine != b->processes[b->me].machine)
			continue;
		if (bell_open(&b->processes[p].bell, &bell) != CHOIR_SUCCESS)
			return false;
		bell_close(bell);
	}
	return true;
}

/* One round: the nodes' leaders create the arenas, the other processes map them; failed[p] = 1 where process p could
 * not.  In a split, whose processes have mapped the parent's arena, a failure is the split's. */
static choir_status share_arenas(struct bootstrap *b, choir_status ready, struct arena_address *mine,
                                 struct arena_address *all, unsigned char *failed)
{
	struct node_offer offer = { 0 };
	unsigned char my_failure;
	bool several;
	choir_status st;

	if (ready == CHOIR_SUCCESS)
		ready = create_arenas(b, &offer, mine);
	TRY(bootstrap_gather_offers(b, ready, &offer));
	several = leads_several(b);
	if (several)
		TRY(bootstrap_gather_ready(b, mine, (size_t)b->layout.n_nodes * sizeof *mine, all));
	st = open_arenas(b, several ? all : NULL);
	if (b->join->parent_nodes != NULL)
		return st;
	my_failure = st != CHOIR_SUCCESS || !opens_bells(b);
	return bootstrap_gather_ready(b, &my_failure, 1, failed);
}

/* From here on the processes hand each other descriptors where /proc/PID/fd is closed between them.  One that cannot
 * start its porter keeps its memory to itself. */
static choir_status open_porters(struct bootstrap *b)
{
	struct porter_address mine = { 0 }, *all = calloc((size_t)b->n_processes, sizeof *all);
	choir_status st =
	    all != NULL ? CHOIR_SUCCESS : error_no_memory("porters", (size_t)b->n_processes * sizeof *all);

	(void)porter_start(&mine);
	st = bootstrap_gather(b, st, &mine, sizeof mine, all);
	for (int p = 0; p < b->n_processes && st == CHOIR_SUCCESS; p++)
		if (p != b->me && b->processes[p].machine == b->processes[b->me].machine)
			(void)porter_learn(b->processes[p].id, &all[p]); /* without it that process counts as closed */
	free(all);
	return st;
}

static bool any_failed(const struct bootstrap *b, const unsigned char *failed)
{
	return memchr(failed, 1, (size_t)b->n_processes) != NULL;
}

/* Looks for processes of one machine that share no memory, and says why; own[p]: p could not map its node's arena. */
static void explain_apart(struct bootstrap *b, const unsigned char *own)
{
	for (int p = 1; p < b->n_processes; p++)
		for (int q = 0; q < p; q++) {
			const struct process *one = &b->processes[q], *other = &b->processes[p];
			const char *why = one->uid != other->uid   ? "run as different users"
			                  : one->net != other->net ? "are in different network namespaces"
			                  : own[p] || own[q] ? "cannot open each other's shared memory, neither by "
			                                       "/proc/PID/fd nor over a socket"
			                                     : NULL;

			if (one->host != other->host || why == NULL)
				continue;
			snprintf(b->apart, sizeof b->apart, "processes %d and %d of one machine %s", q, p, why);
			return;
		}
}

/* Once more where a process could not map the arena of its node.  failed: [n_processes]. */
static choir_status make_round(struct bootstrap *b, choir_status ready, const unsigned char *own, unsigned char *failed)
{
	choir_status st = ready == CHOIR_SUCCESS ? place_ranks(b, own) : ready;
	size_t n_nodes = (size_t)b->layout.n_nodes;
	struct arena_address *mine = calloc(n_nodes, sizeof *mine),
			     *all = calloc(n_nodes * (size_t)b->n_processes, sizeof *all);

	b->arenas = calloc(n_nodes, sizeof *b->arenas);
	if (st == CHOIR_SUCCESS && (b->arenas == NULL || mine == NULL || all == NULL))
		st = error_no_memory("arenas", n_nodes * (size_t)b->n_processes * sizeof *all);
	st = share_arenas(b, st, mine, all, failed);
	free(mine);
	free(all);
	return st;
}

choir_status nodes_make(struct bootstrap *b, choir_status ready, unsigned char *own, unsigned char *failed)
{
	bool again;

	TRY(make_round(b, ready, own, failed));
	again = any_failed(b, failed);
	if (again)
		TRY(open_porters(b));
	for (int round = 0; again && round < 3; round++) {
		nodes_drop(b);
		TRY(make_round(b, ready, own, failed));
		again = false;
		for (int p = 0; p < b->n_processes; p++) {
			again |= failed[p] && !own[p];
			own[p] |= failed[p];
		}
	}
	if (again)
		return error_set(CHOIR_TRANSPORT,
		                 "%s: processes of one machine cannot open each other's memory: each try fails for "
		                 "others",
		                 b->join->call);
	if (b->join->parent_nodes == NULL)
		explain_apart(b, own);
	b->one_machine = true;
	for (int p = 0; p < b->n_processes; p++)
		b->one_machine &= !own[p] && b->processes[p].machine == b->processes[0].machine;
	return CHOIR_SUCCESS;
}
