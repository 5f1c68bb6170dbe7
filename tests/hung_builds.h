/* SPDX-License-Identifier: MIT */
/* For tests whose clBuildProgram is wrapped and hangs until they let it go.  Of one file of a program. */
#ifndef TESTS_HUNG_BUILDS_H
#define TESTS_HUNG_BUILDS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hangs;
} hung_builds = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static inline void hung_builds_set(bool hangs)
{
	pthread_mutex_lock(&hung_builds.lock);
	hung_builds.hangs = hangs;
	pthread_cond_broadcast(&hung_builds.changed);
	pthread_mutex_unlock(&hung_builds.lock);
}

/* hung_builds_wait: in the wrapped function: until the test lets it go, most_s at most. */
static inline void hung_builds_wait(int most_s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += most_s;
	pthread_mutex_lock(&hung_builds.lock);
	while (hung_builds.hangs && pthread_cond_timedwait(&hung_builds.changed, &hung_builds.lock, &until) == 0)
		;
	pthread_mutex_unlock(&hung_builds.lock);
}

#endif
