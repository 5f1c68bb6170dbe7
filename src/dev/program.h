/* SPDX-License-Identifier: MIT */
/* The programs a device has built, and kernels nobody holds at the moment. */
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

/* program_cache_fini: waits for builds that nobody waits for any more, ten seconds at most; false = a compiler still
 * runs, so the device must stay. */
bool program_cache_fini(struct program_cache *cache);

/* program_now_ns: of CLOCK_MONOTONIC. */
static inline int64_t program_now_ns(void)
{
	return wait_now_ns();
}

/* build_lock_take: waits until no other process of this user builds OpenCL programs (PoCL's cache on disk races), for
 * ten seconds and half of the time until until_ns at most; returns a descriptor for build_lock_give, -1 if the lock
 * cannot be had: then the build goes on without. */
int build_lock_take(int64_t until_ns);
void build_lock_give(int fd);

/* build_lock_open: opens or makes the lock's file; -1 if that is impossible or if others than this user could hold
 * it. */
int build_lock_open(const char *path);

#endif
