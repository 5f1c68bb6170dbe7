/* SPDX-License-Identifier: MIT */
#include "exec/comm_list.h"

#include "base/fork.h"
#include "base/wait.h"

#include <errno.h>
#include <time.h>

enum { IDLE_LOOKS = 16 };

static struct {
	pthread_mutex_t lock;
	struct choir_comm *first, *first_busy;
	_Atomic int n_busy;
} comms = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void forked(void)
{
	pthread_mutex_init(&comms.lock, NULL); /* whoever held it is not here */
	comms.first = comms.first_busy = NULL;
	atomic_store(&comms.n_busy, 0);
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

bool comm_list_wait(pthread_cond_t *cond, int64_t ms)
{
	int64_t end = wait_end_ns(ms);
	struct timespec until = { .tv_sec = end / 1000000000, .tv_nsec = end % 1000000000 };

	if (ms >= 0)
		return pthread_cond_clockwait(cond, &comms.lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT;
	pthread_cond_wait(cond, &comms.lock);
	return false;
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
}

/* --- the busy ones --- */

static bool may_have_work(struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->submission.unfinished, memory_order_acquire) > 0 ||
	       (comm->messenger != NULL && messenger_busy(comm->messenger));
}

static void take_out(struct choir_comm *comm)
{
	struct choir_comm *next = comm->listing.next_busy;

	*comm->listing.link_busy = next;
	if (next != NULL)
		next->listing.link_busy = comm->listing.link_busy;
	atomic_fetch_sub(&comms.n_busy, 1);
}

/* Note [busy comms].  True: the comm is taken out. */
static bool take_out_if_idle(struct choir_comm *comm)
{
	struct comm_listing *listing = &comm->listing;

	if (may_have_work(comm)) {
		atomic_store_explicit(&listing->idle_looks, 0, memory_order_relaxed);
		return false;
	}
	if (atomic_fetch_add_explicit(&listing->idle_looks, 1, memory_order_relaxed) < IDLE_LOOKS)
		return false;
	atomic_store(&listing->busy, false);
	atomic_thread_fence(memory_order_seq_cst);
	if (may_have_work(comm)) {
		atomic_store(&listing->busy, true);
		return false;
	}
	take_out(comm);
	return true;
}

static void put_in(struct choir_comm *comm)
{
	struct comm_listing *listing = &comm->listing;

	comm_list_lock();
	if (!atomic_load(&listing->busy) && listing->listed) {
		listing->next_busy = comms.first_busy;
		listing->link_busy = &comms.first_busy;
		if (comms.first_busy != NULL)
			comms.first_busy->listing.link_busy = &listing->next_busy;
		comms.first_busy = comm;
		atomic_fetch_add(&comms.n_busy, 1);
		atomic_store(&listing->busy, true);
	}
	comm_list_unlock();
}

void comm_list_note_work(struct choir_comm *comm)
{
	struct comm_listing *listing = &comm->listing;

	if (atomic_load_explicit(&listing->idle_looks, memory_order_relaxed) != 0)
		atomic_store_explicit(&listing->idle_looks, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&listing->busy, memory_order_relaxed))
		put_in(comm);
}

bool comm_list_has_others(const struct choir_comm *comm)
{
	int mine = comm != NULL && comm_list_is_busy(comm);

	return atomic_load_explicit(&comms.n_busy, memory_order_relaxed) > mine;
}

/* --- walks --- */

struct choir_comm *comm_list_next_busy(const struct choir_comm *before)
{
	struct choir_comm *comm = comms.first_busy, *next;

	/* where another walk took `before` out, from the first again */
	if (before != NULL && comm_list_is_busy(before))
		comm = before->listing.next_busy;
	for (; comm != NULL; comm = next) {
		next = comm->listing.next_busy;
		if (!take_out_if_idle(comm))
			break;
	}
	return comm;
}

static struct choir_comm *after(const struct choir_comm *before)
{
	if (before == NULL)
		return comms.first;
	return before->listing.listed ? before->listing.next : NULL;
}

struct choir_comm *comm_list_next(struct choir_comm *before, enum comm_list_which which)
{
	struct choir_comm *comm;

	comm_list_lock();
	comm = which == COMM_LIST_ALL ? after(before) : comm_list_next_busy(before);
	if (comm != NULL)
		comm_retain(comm);
	comm_list_unlock();
	if (before != NULL)
		comm_release(before);
	return comm;
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
	if (atomic_exchange(&comm->listing.busy, false))
		take_out(comm);
}
