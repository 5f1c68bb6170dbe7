/* SPDX-License-Identifier: MIT */
#include "exec/background.h"

#include "base/fork.h"
#include "base/thread_start.h"
#include "exec/comm_list.h"

static struct {
	pthread_cond_t work;
	_Atomic int resting;   /* threads that wait on `work`: one, and at times one that is about to end */
	_Atomic unsigned life; /* Note [lives] */
	bool started;          /* under comm_list_lock, as are the fields behind it */
	pthread_t thread;
	void (*loop)(unsigned life);
} background = { .work = PTHREAD_COND_INITIALIZER };

static void forked(void)
{
	pthread_cond_init(&background.work, NULL);
	background.started = false;
	atomic_store(&background.resting, 0);
}

/* The lock: the next life may be started before this one has begun. */
static void *run_loop(void *life)
{
	void (*loop)(unsigned life);

	comm_list_lock();
	loop = background.loop;
	comm_list_unlock();
	loop((unsigned)(uintptr_t)life);
	return NULL;
}

/* Under comm_list_lock.  The removal of the last comm ends the thread: without a comm none is started. */
static choir_status start(void (*loop)(unsigned life))
{
	void *life = (void *)(uintptr_t)atomic_load(&background.life);

	if (background.started || comm_list_first() == NULL)
		return CHOIR_SUCCESS;
	background.loop = loop;
	background.started = thread_start(&background.thread, run_loop, life) == 0;
	return background.started
	           ? CHOIR_SUCCESS
	           : error_set(CHOIR_NO_MEMORY, "no background thread: calls progress only while somebody waits");
}

choir_status background_wake(void (*loop)(unsigned life), bool *rested_p)
{
	choir_status st;

	fork_in_child(forked);
	comm_list_lock();
	st = start(loop);
	comm_list_unlock();
	*rested_p = atomic_load(&background.resting) > 0;
	if (*rested_p) {
		comm_list_lock();
		pthread_cond_broadcast(&background.work);
		comm_list_unlock();
	}
	return st;
}

bool background_is_over(unsigned life)
{
	return atomic_load(&background.life) != life;
}

bool background_rest(unsigned life, int64_t (*rest_ms)(void))
{
	bool over, rested = false;
	int64_t ms;

	comm_list_lock();
	atomic_fetch_add(&background.resting, 1);
	while (!(over = background_is_over(life)) && !rested && (ms = rest_ms()) != 0)
		rested = comm_list_wait(&background.work, ms);
	atomic_fetch_sub(&background.resting, 1);
	comm_list_unlock();
	return !over;
}

bool background_end(pthread_t *thread_p)
{
	*thread_p = background.thread;
	if (!background.started || pthread_equal(pthread_self(), background.thread))
		return false;
	background.started = false;
	atomic_fetch_add(&background.life, 1); /* a new one may be started before this one has gone */
	pthread_cond_broadcast(&background.work);
	return true;
}
