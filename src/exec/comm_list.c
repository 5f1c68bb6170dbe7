/* SPDX-License-Identifier: MIT */
#include "exec/comm_list.h"

#include "base/fork.h"

static struct {
	pthread_mutex_t lock;
	struct choir_comm *first;
	_Atomic int n;
} comms = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void forked(void)
{
	pthread_mutex_init(&comms.lock, NULL); /* whoever held it is not here */
	comms.first = NULL;
	atomic_store(&comms.n, 0);
}

void comm_list_lock(void)
{
	pthread_mutex_lock(&comms.lock);
}

bool comm_list_trylock(void)
{
	return pthread_mutex_trylock(&comms.lock) == 0;
}

void comm_list_unlock(void)
{
	pthread_mutex_unlock(&comms.lock);
}

void comm_list_wait(pthread_cond_t *cond)
{
	pthread_cond_wait(cond, &comms.lock);
}

struct choir_comm *comm_list_first(void)
{
	return comms.first;
}

void comm_list_add(struct choir_comm *comm)
{
	fork_in_child(forked);
	comm->listing.next = comms.first;
	comm->listing.listed = true;
	comms.first = comm;
	atomic_fetch_add(&comms.n, 1);
}

void comm_list_remove(struct choir_comm *comm)
{
	struct choir_comm **at = &comms.first;

	while (*at != NULL && *at != comm)
		at = &(*at)->listing.next;
	if (*at == NULL)
		return;
	*at = comm->listing.next;
	comm->listing.listed = false;
	atomic_fetch_sub(&comms.n, 1);
}

struct choir_comm *comm_list_next(struct choir_comm *before)
{
	struct choir_comm *comm;

	comm_list_lock();
	comm = before == NULL ? comms.first : before->listing.listed ? before->listing.next : NULL;
	if (comm != NULL)
		comm_retain(comm);
	comm_list_unlock();
	if (before != NULL)
		comm_release(before);
	return comm;
}

bool comm_list_are_several(void)
{
	return atomic_load_explicit(&comms.n, memory_order_relaxed) > 1;
}
