/* SPDX-License-Identifier: MIT */
/* The programs a device has built, and kernels nobody holds at the moment. */
#ifndef DEV_PROGRAM_H
#define DEV_PROGRAM_H

#include <pthread.h>

struct program;

struct program_cache {
	pthread_mutex_t lock;
	pthread_cond_t built;
	struct program *first;
};

void program_cache_init(struct program_cache *cache);
void program_cache_fini(struct program_cache *cache);

/* build_lock_take: waits until no other process of this user builds OpenCL programs (PoCL's cache on disk races), at most two minutes; returns a
 * descriptor for build_lock_give, -1 if the lock cannot be had: then the build goes on without. */
int build_lock_take(void);
void build_lock_give(int fd);

#endif
