/* SPDX-License-Identifier: MIT */
#include "exec/fork.h"

#include <pthread.h>

_Atomic int fork_count;

static void forked(void)
{
	atomic_fetch_add(&fork_count, 1);
}

static void watch_once(void)
{
	pthread_atfork(NULL, NULL, forked);
}

void fork_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_once);
}

void fork_in_child(void (*fn)(void))
{
	pthread_atfork(NULL, NULL, fn);
}
