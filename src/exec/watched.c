/* SPDX-License-Identifier: MIT */
#include "exec/watched.h"

#include "exec/background.h"

#include <stdatomic.h>

static struct {
	_Atomic int under_way;
	_Atomic unsigned begun;
	_Atomic bool watched;
	unsigned seen; /* jobs that the background thread knows to have begun; under comm_list_lock */
} jobs;

void watched_begin(void (*loop)(unsigned life))
{
	bool rested;

	atomic_fetch_add(&jobs.under_way, 1);
	atomic_fetch_add(&jobs.begun, 1);
	if (!atomic_exchange(&jobs.watched, true) && background_wake(loop, &rested) != CHOIR_SUCCESS)
		atomic_store(&jobs.watched, false);
}

void watched_end(void)
{
	atomic_fetch_sub(&jobs.under_way, 1);
}

/* Whoever begins a job after the look at under_way finds that it is not watched. */
bool watched_is_needed(void)
{
	unsigned begun = atomic_load(&jobs.begun);
	bool more = begun != jobs.seen;

	jobs.seen = begun;
	atomic_store(&jobs.watched, more);
	if (!more && atomic_load(&jobs.under_way) > 0)
		atomic_store(&jobs.watched, more = true);
	return more;
}

void watched_stop(void)
{
	atomic_store(&jobs.watched, false);
}

void watched_forget(void)
{
	atomic_store(&jobs.under_way, 0);
	atomic_store(&jobs.watched, false);
}
