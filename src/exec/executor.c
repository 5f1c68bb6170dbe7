/* SPDX-License-Identifier: MIT */
#include "exec/executor.h"

#include "base/fork_lock.h"

#include <stdatomic.h>

FORK_LOCK(lock)
static struct {
	choir_executor_fn fn;
	void *ctx;
} executor;                 /* under the lock */
static _Atomic bool is_set; /* spares the lock where there is none */

choir_status choir_set_executor(choir_executor_fn fn, void *ctx)
{
	pthread_mutex_lock(&lock);
	executor.fn = fn;
	executor.ctx = ctx;
	atomic_store(&is_set, fn != NULL);
	pthread_mutex_unlock(&lock);
	return CHOIR_SUCCESS;
}

bool executor_take(choir_work_fn work, void *arg)
{
	choir_executor_fn fn;
	void *ctx;

	if (!atomic_load_explicit(&is_set, memory_order_acquire))
		return false;
	pthread_mutex_lock(&lock);
	fn = executor.fn;
	ctx = executor.ctx;
	pthread_mutex_unlock(&lock);
	if (fn == NULL)
		return false;
	fn(ctx, work, arg);
	return true;
}
