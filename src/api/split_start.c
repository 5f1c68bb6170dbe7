/* SPDX-License-Identifier: MIT */
/* choir_comm_split_start and choir_comm_create_group_start. */
#include "api/started.h"

#include "api/named.h"
#include "api/split.h"
#include "base/plural.h"

#include <choir/group.h>
#include <stdlib.h>
#include <string.h>

struct start {
	const char *call;
	choir_comm *comm; /* a reference: the parent, which the call is inside of, so destroy waits for its end */
	int color, key;
	char *name; /* of a group; NULL = a split */
	int *ranks, n_ranks;
	struct started_config config;
	choir_comm **out_p;
};

static choir_status make(void *args)
{
	struct start *start = args;
	const choir_comm_config *config = started_config_of(&start->config);
	choir_status st;

	if (start->name != NULL)
		st = named_create(start->call, 1, &start->comm, start->name, start->ranks, start->n_ranks, config,
		                  start->out_p);
	else
		st = split_config(start->call, start->comm, start->color, start->key, config, start->out_p);
	if (st == CHOIR_ARGUMENT && start->comm->engine.closed)
		return error_set(CHOIR_ABORTED, "%s", error_text());
	return st;
}

static void drop(void *args)
{
	struct start *start = args;

	started_config_free(&start->config);
	free(start->name);
	free(start->ranks);
	atomic_fetch_sub(&start->comm->uses.making, 1);
	comm_leave(start->comm);
	comm_release(start->comm);
	free(start);
}

/* Takes the name and the ranks of *given, also on failure. */
static choir_status begin(const struct start *given, const choir_comm_config *config, choir_event **event_p)
{
	struct start *start = malloc(sizeof *start);
	choir_status st =
	    start != NULL ? call_enter(given->call, given->comm) : error_no_memory("a split", sizeof *start);

	if (st != CHOIR_SUCCESS) {
		free(start);
		free(given->name);
		free(given->ranks);
		return st;
	}
	*start = *given;
	atomic_fetch_add(&start->comm->uses.making, 1);
	comm_retain(start->comm);
	st = started_config(start->call, config, &start->config);
	if (st != CHOIR_SUCCESS) {
		drop(start);
		return st;
	}
	*start->out_p = NULL;
	return started_begin(&(struct started_call){ start->call, start->comm, make, drop, start }, event_p);
}

choir_status choir_comm_split_start(choir_comm *comm, int color, int key, const choir_comm_config *config,
                                    choir_comm **out_p, choir_event **event_p)
{
	static const char call[] = "choir_comm_split_start";
	const struct start start = { .call = call, .comm = comm, .color = color, .key = key, .out_p = out_p };

	if (out_p == NULL || event_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	TRY(call_check_comm(call, comm));
	return begin(&start, config, event_p);
}

choir_status choir_comm_create_group_start(choir_comm *parent, const char *name, const int *ranks, int n_ranks,
                                           const choir_comm_config *config, choir_comm **out_p, choir_event **event_p)
{
	static const char call[] = "choir_comm_create_group_start";
	struct start start = { .call = call, .comm = parent, .n_ranks = n_ranks, .out_p = out_p };
	size_t bytes;

	if (out_p == NULL || event_p == NULL || name == NULL || ranks == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	TRY(call_check_comm(call, parent));
	if (n_ranks < 1 || n_ranks > parent->n)
		return error_set(CHOIR_ARGUMENT, "%s: group '%s': n_ranks is %d, but '%s' has %d rank%s", call, name,
		                 n_ranks, parent->name, parent->n, plural(parent->n));
	bytes = (size_t)n_ranks * sizeof *ranks;
	start.name = strdup(name);
	start.ranks = malloc(bytes);
	if (start.name == NULL || start.ranks == NULL) {
		free(start.name);
		free(start.ranks);
		return error_no_memory("members of a group", bytes);
	}
	memcpy(start.ranks, ranks, bytes);
	return begin(&start, config, event_p);
}
