/* SPDX-License-Identifier: MIT */
/* Design notes.  A split is a gather of claims over the parent: color, key, driver, and the facts of each rank's
 * process.  Then each color is joined as any comm is, in ascending order, without a gather of facts.  The members of
 * that bootstrap are calls: the lowest of a color's ranks that one split_local call drives is its leader.  The leaders
 * of a color exchange their bytes by send and recv on the parent, so ranks of other colors take no part; where all
 * ranks have one color, by allgathers, which wake fewer threads.  Messages of the new comm go through the parent's
 * messengers.  Where only members call, they exchange their claims by send and recv too. */
#include "api/split.h"

#include "api/join.h"
#include "api/comm_life.h"
#include "api/split_claims.h"
#include "api/bootstrap.h"
#include "base/kept_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One split_local call. */
struct split {
	struct split_calls calls;
	const choir_comm_config *config; /* of the new comms */
	/* the color at hand */
	int *members; /* [parent size] parent ranks in the order of the new comm */
	int n_members;
	int *leaders;              /* [parent size] the calls' leading parent ranks, ascending */
	struct process *processes; /* [parent size] of the leaders */
	int n_leaders, me;
	choir_comm *leader; /* this call's */
};

/* Bytes of every process of a color that all ranks of the parent have. */
static choir_status exchange_all(const struct split *split, const void *mine, size_t bytes, unsigned char *all)
{
	size_t n = (size_t)split->n_members;
	unsigned char *of_ranks = malloc(n * bytes);
	choir_status st;

	if (of_ranks == NULL)
		return error_no_memory("bytes of a split", n * bytes);
	st = split_gather(&split->calls, mine, 0, bytes, of_ranks);
	for (int i = 0; i < split->n_leaders && st == CHOIR_SUCCESS; i++)
		memcpy(all + (size_t)i * bytes, of_ranks + (size_t)split->leaders[i] * bytes, bytes);
	free(of_ranks);
	return st;
}

/* Bytes of every process of the color, which exchange them over the parent. */
static choir_status exchange_some(const struct split *split, const void *mine, size_t bytes, unsigned char *all)
{
	int n = split->n_leaders;
	unsigned char *blocks = malloc((size_t)n * bytes);
	choir_status st;

	if (blocks == NULL)
		return error_no_memory("bytes of a split", (size_t)n * bytes);
	memcpy(blocks, mine, bytes);
	st = split_exchange(split->calls.how->call, 1, &split->leader, &split->me, split->leaders, n, blocks, bytes);
	for (int i = 0; i < n; i++)
		memcpy(all + (size_t)((split->me + i) % n) * bytes, blocks + (size_t)i * bytes, bytes);
	free(blocks);
	return st;
}

/* The bootstrap's gather of a split returns a status. */
static int exchange(void *ctx, const void *mine, size_t bytes, void *all)
{
	const struct split *split = ctx;

	return (int)(split->n_members == split->calls.comms[0]->n ? exchange_all(split, mine, bytes, all)
	                                                          : exchange_some(split, mine, bytes, all));
}

static void order_members(struct split *split, int n, int color)
{
	split->n_members = 0;
	for (int r = 0; r < n; r++) {
		int at = split->n_members;

		if (split->calls.claims[r].color != color)
			continue;
		for (; at > 0 && split->calls.claims[split->members[at - 1]].key > split->calls.claims[r].key; at--)
			split->members[at] = split->members[at - 1];
		split->members[at] = r;
		split->n_members++;
	}
}

/* The leader of a call is the lowest of its ranks that has the color. */
static void find_leaders(struct split *split, int n, int color, int my_driver)
{
	split->n_leaders = 0;
	for (int r = 0; r < n; r++) {
		bool leads = split->calls.claims[r].color == color;

		for (int before = 0; before < r && leads; before++)
			leads = split->calls.claims[before].color != color ||
			        split->calls.claims[before].driver != split->calls.claims[r].driver;
		if (!leads)
			continue;
		if (split->calls.claims[r].driver == my_driver)
			split->me = split->n_leaders;
		split->leaders[split->n_leaders++] = r;
	}
	for (int i = 0; i < split->calls.n_local; i++)
		if (split->calls.comms[i]->rank == split->leaders[split->me])
			split->leader = split->calls.comms[i];
}

struct locals {
	choir_device **devices;
	choir_comm **parents;
	int *ranks, *endpoints, *index;
	choir_comm **made;
	int n;
};

static void take_locals(const struct split *split, struct locals *locals)
{
	locals->n = 0;
	for (int m = 0; m < split->n_members; m++)
		for (int i = 0; i < split->calls.n_local; i++) {
			choir_comm *comm = split->calls.comms[i];

			if (comm->rank != split->members[m])
				continue;
			locals->devices[locals->n] = comm->device;
			locals->parents[locals->n] = comm;
			locals->ranks[locals->n] = m;
			locals->endpoints[locals->n] = comm->endpoint_of[comm->rank];
			locals->index[locals->n++] = i;
		}
}

/* Members that the caller leaves at their defaults are the parent's. */
static choir_status read_config(const struct split_how *how, const choir_comm *parent, choir_comm_config *out)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	if (how->config != NULL)
		TRY(call_read_struct(how->call, "config", "CHOIR_COMM_CONFIG_INIT", how->config, &config,
		                     sizeof config));
	if (config.deadline_ms < 0 || config.warn_ms < 0)
		return error_set(CHOIR_ARGUMENT, "%s: negative value in config", how->call);
	if (config.ranks_per_node != 0 || config.transport != NULL)
		return error_set(CHOIR_ARGUMENT, "%s: config: %s is the parent comm's", how->call,
		                 config.transport != NULL ? "transport" : "ranks_per_node");
	TRY(join_options(how->call, parent->order_ranks, &config));
	config.struct_size = sizeof config;
	if (config.deadline_ms == 0)
		config.deadline_ms = parent->deadline_ms;
	if (config.warn_ms == 0)
		config.warn_ms = parent->warn_ms;
	if (config.rules == NULL)
		config.rules = parent->rules.text;
	if (config.name == NULL)
		config.name = parent->name;
	if (config.options == NULL)
		config.options = parent->options;
	*out = config;
	return CHOIR_SUCCESS;
}

/* The facts of the processes, from the leaders' claims. */
static void know_processes(struct split *split, int n, int color)
{
	for (int p = 0; p < split->n_leaders; p++) {
		const struct split_claim *leader = &split->calls.claims[split->leaders[p]];
		struct process *process = &split->processes[p];

		*process = leader->process;
		process->n_local = 0;
		for (int r = 0; r < n; r++)
			process->n_local +=
			    split->calls.claims[r].color == color && split->calls.claims[r].driver == leader->driver;
		while (split->members[process->first.rank] != split->leaders[p]) /* from 0 on */
			process->first.rank++;
	}
}

/* failure: of a color before, which the others of this one are told. */
static choir_status split_color(struct split *split, int color, int my_driver, struct locals *locals,
                                const struct kept_error *failure, choir_comm **comms_out)
{
	choir_comm *parent = split->calls.comms[0];
	choir_bootstrap bootstrap = { sizeof bootstrap, 0, 0, exchange, split, NULL };
	struct join join = { .call = split->calls.how->call, .bootstrap = &bootstrap, .config = split->config };

	order_members(split, parent->n, color);
	find_leaders(split, parent->n, color, my_driver);
	know_processes(split, parent->n, color);
	take_locals(split, locals);
	bootstrap.rank = split->me;
	bootstrap.size = split->n_leaders;
	join.n_local = locals->n;
	join.devices = locals->devices;
	join.ranks = locals->ranks;
	join.parents = locals->parents;
	join.endpoints = locals->endpoints;
	join.parent_nodes = &parent->layout;
	join.members = split->members;
	join.processes = split->processes;
	join.ready = error_again(failure);
	TRY(join_comms(&join, locals->made));
	for (int i = 0; i < locals->n; i++)
		comms_out[locals->index[i]] = locals->made[i];
	return CHOIR_SUCCESS;
}

static choir_status split_colors(struct split *split, struct locals *locals, choir_comm **comms_out)
{
	int my_driver = split->calls.claims[split->calls.comms[0]->rank].driver, color = -1;
	struct kept_error failure = { 0 };

	for (;;) { /* ascending, so that all calls meet in the same order; also after a failure: others wait there */
		int next = -1;

		for (int i = 0; i < split->calls.n_local; i++) {
			int mine = split->calls.claims[split->calls.comms[i]->rank].color;

			if (mine > color && (next < 0 || mine < next))
				next = mine;
		}
		if (next < 0)
			return error_again(&failure);
		color = next;
		memset(locals->made, 0, (size_t)split->calls.n_local * sizeof *locals->made);
		error_keep_first(&failure, split_color(split, color, my_driver, locals, &failure, comms_out));
	}
}

/* A failure is told with the facts. */
static void take_facts(const struct split_how *how, choir_comm *comm, const choir_comm_config *config,
                       struct process *out)
{
	int rank = 0, endpoint = comm->endpoint_of[comm->rank];
	struct join join = { .call = how->call,
		             .n_local = 1,
		             .config = config,
		             .ranks = &rank,
		             .endpoints = &endpoint,
		             .devices = &comm->device };

	out->status = bootstrap_facts(&join, out);
}

static void complete_claims(const struct split *split, struct split_claim *claims)
{
	choir_comm *const *comms = split->calls.comms;
	int n_local = split->calls.n_local, driver = comms[0]->rank;

	for (int i = 1; i < n_local; i++)
		driver = comms[i]->rank < driver ? comms[i]->rank : driver;
	for (int i = 0; i < n_local; i++) {
		claims[i].driver = driver;
		take_facts(split->calls.how, comms[i], split->config, &claims[i].process);
	}
}

static choir_status split_claimed(struct split *split, struct split_claim *mine, struct locals *locals,
                                  choir_comm **out)
{
	complete_claims(split, mine);
	TRY(split_gather_claims(&split->calls, mine));
	return split_colors(split, locals, out);
}

static choir_status split_inside(const struct split_how *how, int n_local, choir_comm *const *comms,
                                 struct split_claim *claims, choir_comm **comms_out)
{
	choir_comm_config config;
	struct split split = { .calls = { .how = how, .n_local = n_local, .comms = comms }, .config = &config };
	size_t n = (size_t)comms[0]->n, mine = (size_t)n_local;
	choir_comm **out = calloc(2 * mine, sizeof *out); /* and behind it those of the color at hand */
	int *numbers = calloc(2 * n + 3 * mine, sizeof *numbers);
	struct locals locals = { .devices = calloc(mine, sizeof *locals.devices),
		                 .parents = calloc(mine, sizeof *locals.parents) };
	choir_status st = read_config(how, comms[0], &config);

	split.calls.claims = calloc(n, sizeof *split.calls.claims);
	split.processes = calloc(n, sizeof *split.processes);
	if (out == NULL || numbers == NULL || locals.devices == NULL || locals.parents == NULL ||
	    split.calls.claims == NULL || split.processes == NULL)
		st = error_no_memory("a split", n * sizeof *split.calls.claims);
	if (st == CHOIR_SUCCESS) {
		split.members = numbers;
		split.leaders = split.members + n;
		locals.ranks = split.leaders + n;
		locals.endpoints = locals.ranks + mine;
		locals.index = locals.endpoints + mine;
		locals.made = out + mine;
		st = split_claimed(&split, claims, &locals, out);
	}
	if (st != CHOIR_SUCCESS && out != NULL) /* of the colors that were made before another one failed */
		comm_discard_told(st, mine, out);
	for (size_t i = 0; i < mine && st == CHOIR_SUCCESS; i++)
		comms_out[i] = out[i];
	free(out);
	free(numbers);
	free(locals.devices);
	free(locals.parents);
	free(split.calls.claims);
	free(split.processes);
	return st;
}

choir_status split_comms(const struct split_how *how, int n_local, choir_comm *const *comms, struct split_claim *claims,
                         choir_comm **comms_out)
{
	choir_status st;

	TRY(call_enter_all(how->call, n_local, comms));
	st = call_check_comms(how->call, n_local, comms);
	if (st == CHOIR_SUCCESS)
		st = split_inside(how, n_local, comms, claims, comms_out);
	call_leave_all(n_local, comms);
	return st;
}

static void describe_colors(const struct split_claim *claim, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s", claim->rule[0] < 0 ? "a color" : "a group");
}

static choir_status split_by_colors(const char *call, int n_local, choir_comm *const *comms, const int *colors,
                                    const int *keys, const choir_comm_config *config, choir_comm **comms_out)
{
	const struct split_how how = { .call = call, .config = config, .describe = describe_colors };
	struct split_claim *claims;
	choir_status st;

	if (n_local < 1 || comms == NULL || colors == NULL || keys == NULL || comms_out == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument, or n_local %d", call, n_local);
	claims = calloc((size_t)n_local, sizeof *claims);
	if (claims == NULL)
		return error_no_memory("claims of a split", (size_t)n_local * sizeof *claims);
	for (int i = 0; i < n_local; i++)
		claims[i] =
		    (struct split_claim){ .color = colors[i] < 0 ? -1 : colors[i], .key = keys[i], .rule = { -1 } };
	st = split_comms(&how, n_local, comms, claims, comms_out);
	free(claims);
	return st;
}

choir_status choir_comm_split_local(int n_local, choir_comm *const *comms, const int *colors, const int *keys,
                                    choir_comm **comms_out)
{
	return split_by_colors("choir_comm_split", n_local, comms, colors, keys, NULL, comms_out);
}

choir_status choir_comm_split(choir_comm *comm, int color, int key, choir_comm **out_p)
{
	return split_by_colors("choir_comm_split", 1, &comm, &color, &key, NULL, out_p);
}

choir_status split_config(const char *call, choir_comm *comm, int color, int key, const choir_comm_config *config,
                          choir_comm **out_p)
{
	return split_by_colors(call, 1, &comm, &color, &key, config, out_p);
}

choir_status choir_comm_split_config(choir_comm *comm, int color, int key, const choir_comm_config *config,
                                     choir_comm **out_p)
{
	return split_config("choir_comm_split_config", comm, color, key, config, out_p);
}
