/* SPDX-License-Identifier: MIT */
/* A device's cache of built programs and unused kernels, and the lock between processes that build. */
#ifndef DEV_PROGRAM_H
#define DEV_PROGRAM_H

#include "base/wait.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct program;

struct program_cache {
	pthread_mutex_t lock;
	pthread_cond_t built;
	struct program *first;
	int building; /* threads that build now */
};

void program_cache_init(struct program_cache *cache);

/* program_cache_fini: waits at most ten seconds for builds under way; false: a compiler still runs and uses the device,
 * so its memory must stay. */
bool program_cache_fini(struct program_cache *cache);

/* program_now_ns: CLOCK_MONOTONIC in ns. */
static inline int64_t program_now_ns(void)
{
	return wait_now_ns();
}

/* build_lock_take: waits until no other process of this user builds OpenCL programs (PoCL's cache on disk races), at
 * most ten seconds and half of the time until until_ns.  Returns a descriptor for build_lock_give, or -1 without the
 * lock: the caller builds all the same. */
int build_lock_take(int64_t until_ns);
void build_lock_give(int fd);

/* build_lock_open: opens or creates the lock file; -1 if that fails or another user could open the file. */
int build_lock_open(const char *path);

#endif
