/* SPDX-License-Identifier: MIT */
#include "base/fork_lock.h"

#include <stddef.h>

enum { MOST = 32 };

static pthread_mutex_t *locks[MOST];
static size_t n_locks;

static void child_forked(void)
{
	for (size_t i = 0; i < n_locks; i++)
		*locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* While the library is loaded, by one thread. */
void fork_lock_add(pthread_mutex_t *lock)
{
	if (n_locks == 0)
		pthread_atfork(NULL, NULL, child_forked);
	if (n_locks < MOST)
		locks[n_locks++] = lock;
}
