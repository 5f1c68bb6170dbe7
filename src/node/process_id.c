/* SPDX-License-Identifier: MIT */
#include "node/process_id.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int64_t mine; /* 0: not looked up since the process began */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void forget(void)
{
	atomic_store(&mine, 0);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget);
}

int64_t process_id(void)
{
	int64_t id = atomic_load_explicit(&mine, memory_order_relaxed);
	struct stat space = { 0 };

	if (id != 0)
		return id;
	pthread_once(&fork_once, watch_forks);
	(void)!stat("/proc/self/ns/pid", &space); /* without /proc: 0 */
	id = (int64_t)((uint64_t)space.st_ino << 32 | (uint32_t)getpid());
	atomic_store_explicit(&mine, id, memory_order_relaxed);
	return id;
}

int process_pid(int64_t id)
{
	return (int)(uint32_t)id;
}

bool process_is_visible(int64_t id)
{
	return (uint64_t)id >> 32 == (uint64_t)process_id() >> 32;
}
