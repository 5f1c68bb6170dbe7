/* SPDX-License-Identifier: MIT */
/* Design notes.  One list a process holds the named groups of all comms, by the handle of the parent: a handle is one
 * rank, so ranks that are threads know their own groups alone.  An entry goes with its group or with its parent; the
 * entry of a rank that is no member is kept for the sentence of choir_comm_find.  The call that makes a group has its
 * name from the beginning: only that call settles the entry. */
#include "api/named.h"

#include "api/split.h"
#include "base/config.h"
#include "base/fork_lock.h"
#include "base/plural.h"

#include <choir/group.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum named_state {
	REFUSED, /* this rank is no member */
	BEING_MADE,
	MADE
};

struct named {
	struct named *next;
	const choir_comm *parent;
	enum named_state state;
	choir_comm *comm; /* once it is MADE, else NULL */
	char *name;
	char members[96]; /* "ranks 0 2 4" */
};

FORK_LOCK(named_lock)
static struct named *all_named;

/* The link that points to it, or to NULL. */
static struct named **find_named(const choir_comm *parent, const char *name)
{
	struct named **link = &all_named;

	while (*link != NULL && ((*link)->parent != parent || strcmp((*link)->name, name) != 0))
		link = &(*link)->next;
	return link;
}

static void drop(struct named **link)
{
	struct named *named = *link;

	*link = named->next;
	free(named->name);
	free(named);
}

void named_forget(const choir_comm *comm)
{
	struct named **link = &all_named;

	pthread_mutex_lock(&named_lock);
	while (*link != NULL)
		if ((*link)->comm == comm || (*link)->parent == comm)
			drop(link);
		else
			link = &(*link)->next;
	pthread_mutex_unlock(&named_lock);
}

static void list_members(const int *ranks, int n_ranks, char *text, size_t bytes)
{
	int at = snprintf(text, bytes, "rank%s", plural(n_ranks));

	for (int i = 0; i < n_ranks && at > 0; i++) {
		if ((size_t)at + 32 >= bytes) {
			snprintf(text + at, bytes - (size_t)at, " ...");
			return;
		}
		at += snprintf(text + at, bytes - (size_t)at, " %d", ranks[i]);
	}
}

static choir_status no_member(const char *call, const choir_comm *parent, const char *name, const char *members)
{
	return error_set(CHOIR_ARGUMENT, "%s: rank %d of '%s' is not part of the group '%s' (%s)", call, parent->rank,
	                 parent->name, name, members);
}

static int index_of(const int *ranks, int n_ranks, int rank)
{
	for (int i = 0; i < n_ranks; i++)
		if (ranks[i] == rank)
			return i;
	return -1;
}

static choir_status name_is_taken(const char *call, const choir_comm *parent, const char *name, enum named_state by)
{
	return error_set(CHOIR_ARGUMENT, "%s: '%s' %s a group '%s' already", call, parent->name,
	                 by == MADE ? "has" : "is making", name);
}

/* The entry of a name that no group has and no call is making; of a rank that is no member it is REFUSED. */
static choir_status reserve(const char *call, const choir_comm *parent, const char *name, const int *ranks, int n_ranks)
{
	struct named *named = calloc(1, sizeof *named), **before;
	enum named_state by = REFUSED;
	char *copy = strdup(name);

	if (named == NULL || copy == NULL) {
		free(named);
		free(copy);
		return error_no_memory("a named group", sizeof *named);
	}
	*named = (struct named){ .parent = parent,
		                 .state = index_of(ranks, n_ranks, parent->rank) < 0 ? REFUSED : BEING_MADE,
		                 .name = copy };
	list_members(ranks, n_ranks, named->members, sizeof named->members);
	pthread_mutex_lock(&named_lock);
	before = find_named(parent, name);
	if (*before != NULL)
		by = (*before)->state;
	if (*before != NULL && by == REFUSED)
		drop(before);
	if (by == REFUSED) {
		named->next = all_named;
		all_named = named;
	}
	pthread_mutex_unlock(&named_lock);
	if (by == REFUSED)
		return CHOIR_SUCCESS;
	free(copy);
	free(named);
	return name_is_taken(call, parent, name, by);
}

/* Of an entry that is BEING_MADE.  comm NULL: the group was not made. */
static void settle(const choir_comm *parent, const char *name, choir_comm *comm)
{
	struct named **link;

	pthread_mutex_lock(&named_lock);
	link = find_named(parent, name);
	if (*link != NULL && comm != NULL) {
		(*link)->comm = comm;
		(*link)->state = MADE;
	} else if (*link != NULL) {
		drop(link);
	}
	pthread_mutex_unlock(&named_lock);
}

static choir_status check_ranks(const char *call, const choir_comm *parent, const char *name, const int *ranks,
                                int n_ranks)
{
	bool *seen;
	choir_status st = CHOIR_SUCCESS;

	if (n_ranks < 1 || n_ranks > parent->n)
		return error_set(CHOIR_ARGUMENT, "%s: group '%s': n_ranks is %d, but '%s' has %d rank%s", call, name,
		                 n_ranks, parent->name, parent->n, plural(parent->n));
	seen = calloc((size_t)parent->n, sizeof *seen);
	if (seen == NULL)
		return error_no_memory("members of a group", (size_t)parent->n);
	for (int i = 0; i < n_ranks && st == CHOIR_SUCCESS; i++) {
		if (ranks[i] < 0 || ranks[i] >= parent->n)
			st = error_set(CHOIR_ARGUMENT, "%s: group '%s': ranks[%d] is %d, but '%s' has %d rank%s", call,
			               name, i, ranks[i], parent->name, parent->n, plural(parent->n));
		else if (seen[ranks[i]])
			st = error_set(CHOIR_ARGUMENT, "%s: group '%s': rank %d is twice in the list", call, name,
			               ranks[i]);
		else
			seen[ranks[i]] = true;
	}
	free(seen);
	return st;
}

static void describe_members(const struct split_claim *claim, char *text, size_t bytes)
{
	snprintf(text, bytes, "a list of %d members (hash %08x) and a name (hash %08x)", claim->rule[0],
	         (unsigned)claim->rule[1], (unsigned)claim->rule[2]);
}

static choir_status refuse_other(const char *call, const choir_comm *parent, const char *name, const int *ranks,
                                 int n_ranks)
{
	char members[96];

	list_members(ranks, n_ranks, members, sizeof members);
	return no_member(call, parent, name, members);
}

/* All local ranks are members, and the names are reserved. */
static choir_status make_group(const char *call, int n_local, choir_comm *const *comms, const char *name,
                               const int *ranks, int n_ranks, const choir_comm_config *given, choir_comm **out)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	const struct split_how how = { call, &config, ranks, n_ranks, describe_members };
	struct split_claim *claims = n_local > 0 ? calloc((size_t)n_local, sizeof *claims) : NULL;
	choir_status st;

	if (claims == NULL)
		return error_no_memory("claims of a group", (size_t)n_local * sizeof *claims);
	for (int i = 0; i < n_local; i++)
		claims[i] = (struct split_claim){
			.key = index_of(ranks, n_ranks, comms[i]->rank),
			.rule = { n_ranks, (int32_t)XXH32(ranks, (size_t)n_ranks * sizeof *ranks, 0),
			          (int32_t)XXH32(name, strlen(name), 0) },
		};
	st = given == NULL ? CHOIR_SUCCESS
	                   : call_read_struct(call, "config", "CHOIR_COMM_CONFIG_INIT", given, &config, sizeof config);
	config.struct_size = sizeof config;
	if (config.name == NULL)
		config.name = name;
	if (st == CHOIR_SUCCESS)
		st = split_comms(&how, n_local, comms, claims, out);
	free(claims);
	return st;
}

choir_status named_create(const char *call, int n_local, choir_comm *const *comms, const char *name, const int *ranks,
                          int n_ranks, const choir_comm_config *config, choir_comm **comms_out)
{
	choir_status st = CHOIR_SUCCESS;
	int reserved = 0;

	if (n_local < 1 || comms == NULL || name == NULL || name[0] == '\0' || ranks == NULL || comms_out == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument, an empty name, or n_local %d", call, n_local);
	TRY(call_check_comms(call, n_local, comms));
	TRY(check_ranks(call, comms[0], name, ranks, n_ranks));
	while (reserved < n_local && st == CHOIR_SUCCESS) {
		st = reserve(call, comms[reserved], name, ranks, n_ranks);
		if (st == CHOIR_SUCCESS && index_of(ranks, n_ranks, comms[reserved]->rank) < 0)
			st = refuse_other(call, comms[reserved], name, ranks, n_ranks);
		reserved += st == CHOIR_SUCCESS;
	}
	if (st == CHOIR_SUCCESS)
		st = make_group(call, n_local, comms, name, ranks, n_ranks, config, comms_out);
	for (int i = 0; i < reserved; i++)
		settle(comms[i], name, st == CHOIR_SUCCESS ? comms_out[i] : NULL);
	return st;
}

choir_status choir_comm_create_group_local(int n_local, choir_comm *const *comms, const char *name, const int *ranks,
                                           int n_ranks, const choir_comm_config *config, choir_comm **comms_out)
{
	return named_create("choir_comm_create_group", n_local, comms, name, ranks, n_ranks, config, comms_out);
}

choir_status choir_comm_create_group(choir_comm *parent, const char *name, const int *ranks, int n_ranks,
                                     const choir_comm_config *config, choir_comm **out_p)
{
	return choir_comm_create_group_local(1, &parent, name, ranks, n_ranks, config, out_p);
}

/* Under the lock: the parent's groups that are made, for config_nearest. */
static const choir_comm *naming;

static const char *name_at(size_t i)
{
	for (const struct named *named = all_named; named != NULL; named = named->next)
		if (named->parent == naming && named->state == MADE && i-- == 0)
			return named->name;
	return "";
}

static choir_status unknown_name(const char *call, const choir_comm *parent, const char *name)
{
	size_t n = 0;

	naming = parent;
	while (name_at(n)[0] != '\0')
		n++;
	if (n == 0)
		return error_set(CHOIR_ARGUMENT, "%s: rank %d of '%s' has made no group; it has none called '%s'", call,
		                 parent->rank, parent->name, name);
	return error_set(CHOIR_ARGUMENT, "%s: rank %d of '%s' has made no group called '%s'; the nearest is '%s'", call,
	                 parent->rank, parent->name, name, config_nearest(name, name_at, n));
}

choir_status choir_comm_find(choir_comm *parent, const char *name, choir_comm **out_p)
{
	static const char call[] = "choir_comm_find";
	const struct named *named;
	choir_status st;

	if (name == NULL || out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	TRY(call_check_comm(call, parent));
	pthread_mutex_lock(&named_lock);
	named = *find_named(parent, name);
	if (named == NULL)
		st = unknown_name(call, parent, name);
	else if (named->state == REFUSED)
		st = no_member(call, parent, name, named->members);
	else if (named->state == BEING_MADE)
		st = error_set(CHOIR_ARGUMENT, "%s: rank %d of '%s' has not made the group '%s' yet", call,
		               parent->rank, parent->name, name);
	else
		st = CHOIR_SUCCESS;
	if (st == CHOIR_SUCCESS)
		*out_p = named->comm;
	pthread_mutex_unlock(&named_lock);
	return st;
}
