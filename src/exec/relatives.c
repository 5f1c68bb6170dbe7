/* SPDX-License-Identifier: MIT */
/* Note [relatives].  A rank that is dead or late ends the calls of one comm, and the program of a rank that learns it
 * may destroy all its comms.  Its peers may wait for it in another of these, for which it has not failed: there the
 * rank's farewell alone would say that the rank went, and not why.  A failure counts until the comm's next collective
 * call, so a program that goes on after it is not blamed for it later. */
#include "exec/relatives.h"

#include <stdio.h>
#include <stdlib.h>

struct relatives {
	pthread_mutex_t lock; /* over the list, and the failures that its comms keep */
	struct choir_comm *first;
};

choir_status relatives_join(struct choir_comm *comm, const struct choir_comm *parent)
{
	struct relatives *all = parent != NULL ? parent->relation.all : calloc(1, sizeof *all);

	if (all == NULL || (parent == NULL && pthread_mutex_init(&all->lock, NULL) != 0)) {
		if (parent == NULL)
			free(all);
		return error_no_memory("relatives of a comm", sizeof *all);
	}
	comm->relation.all = all;
	pthread_mutex_lock(&all->lock);
	comm->relation.next = all->first;
	all->first = comm;
	pthread_mutex_unlock(&all->lock);
	return CHOIR_SUCCESS;
}

void relatives_leave(struct choir_comm *comm)
{
	struct relatives *all = comm->relation.all;
	bool last;

	if (all == NULL)
		return;
	pthread_mutex_lock(&all->lock);
	for (struct choir_comm **at = &all->first; *at != NULL; at = &(*at)->relation.next)
		if (*at == comm) {
			*at = comm->relation.next;
			break;
		}
	last = all->first == NULL;
	pthread_mutex_unlock(&all->lock);
	comm->relation.all = NULL;
	if (!last)
		return;
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static void keep(struct comm_relation *relation, uint64_t calls, choir_status status, const char *text)
{
	if (relation->failure.status != CHOIR_SUCCESS && relation->calls == calls)
		return; /* the first one is the cause */
	relation->calls = calls;
	relation->failure.status = status;
	snprintf(relation->failure.text, sizeof relation->failure.text, "%s", text);
}

void relatives_tell(const struct choir_comm *comm, choir_status status, const char *text)
{
	struct relatives *all = comm->relation.all;

	if (all == NULL)
		return;
	pthread_mutex_lock(&all->lock);
	for (struct choir_comm *other = all->first; other != NULL; other = other->relation.next)
		if (other != comm)
			keep(&other->relation, other->submission.next_seq, status, text);
	pthread_mutex_unlock(&all->lock);
}

void relatives_failure(const struct choir_comm *comm, uint64_t calls, struct kept_error *out)
{
	struct relatives *all = comm->relation.all;

	*out = (struct kept_error){ CHOIR_SUCCESS, "" };
	if (all == NULL)
		return;
	pthread_mutex_lock(&all->lock);
	if (comm->relation.calls == calls)
		*out = comm->relation.failure;
	pthread_mutex_unlock(&all->lock);
}

void relatives_visit(const struct choir_comm *comm, void (*fn)(struct choir_comm *relative, void *ctx), void *ctx)
{
	struct relatives *all = comm->relation.all;

	if (all == NULL)
		return;
	pthread_mutex_lock(&all->lock);
	for (struct choir_comm *other = all->first; other != NULL; other = other->relation.next)
		if (other != comm)
			fn(other, ctx);
	pthread_mutex_unlock(&all->lock);
}
