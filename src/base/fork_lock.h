/* SPDX-License-Identifier: MIT */
/* Locks of the process that a forked child finds open, whichever thread of its parent held them: such a thread is not
 * in the child.  The child can use the data that they guard: pointers and numbers, each stored at once. */
#ifndef BASE_FORK_LOCK_H
#define BASE_FORK_LOCK_H

#include <pthread.h>

/* fork_lock_add: a lock that lives as long as the library. */
void fork_lock_add(pthread_mutex_t *lock);

/* FORK_LOCK: defines such a lock. */
#define FORK_LOCK(name)                                                                                                \
	static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                                       \
	__attribute__((constructor)) static void name##_opens(void)                                                    \
	{                                                                                                              \
		fork_lock_add(&name);                                                                                  \
	}

#endif
