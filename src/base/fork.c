/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include <pthread.h>
#include <stddef.h>

enum { MOST_HANDLERS = 16 };

_Atomic int fork_count;

static void count_fork(void)
{
	atomic_fetch_add(&fork_count, 1);
}

void fork_watch(void)
{
	fork_in_child(count_fork);
}

/* Two threads at once may both register fn: it may run twice, and is known only once it is registered. */
void fork_in_child(void (*fn)(void))
{
	static void (*_Atomic known[MOST_HANDLERS])(void);
	int i = 0;

	for (; i < MOST_HANDLERS && atomic_load(&known[i]) != NULL; i++)
		if (atomic_load(&known[i]) == fn)
			return;
	pthread_atfork(NULL, NULL, fn);
	for (void (*none)(void) = NULL; i < MOST_HANDLERS && !atomic_compare_exchange_strong(&known[i], &none, fn); i++)
		none = NULL;
}
