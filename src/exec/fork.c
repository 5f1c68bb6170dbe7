/* SPDX-License-Identifier: MIT */
#include "exec/fork.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic int generation;

static void forked(void)
{
	atomic_fetch_add(&generation, 1);
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, forked);
}

int fork_generation(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

void fork_in_child(void (*fn)(void))
{
	pthread_atfork(NULL, NULL, fn);
}
