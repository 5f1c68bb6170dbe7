/* SPDX-License-Identifier: MIT */
/* Design notes.  An executor is freed by the last of its uses: the process, until the next one is set, the calls of fn
 * under way, and the change that waits until it is the last.  A change from inside a call of fn cannot wait for that
 * call, so it waits for none; nor does one in a forked child, where the threads inside the parent's fn are not. */
#include "exec/executor.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/fork_lock.h"
#include "base/wait.h"

#include <stdatomic.h>
#include <stdlib.h>

struct executor {
	choir_executor_fn fn;
	void *ctx;
	int generation; /* of the process that set it */
	_Atomic int uses;
};

FORK_LOCK(lock)
static struct executor *executor;  /* under the lock; NULL = none */
static _Atomic bool is_set;        /* spares the lock where there is none */
static _Thread_local int n_inside; /* calls of any fn, of this thread */

static void give_back(struct executor *used)
{
	if (used != NULL && atomic_fetch_sub(&used->uses, 1) == 1)
		free(used);
}

static void await_last_use(const struct executor *used)
{
	while (used != NULL && used->generation == fork_generation() && atomic_load(&used->uses) > 1)
		wait_yield();
}

choir_status choir_set_executor(choir_executor_fn fn, void *ctx)
{
	struct executor *made = NULL, *before;

	if (fn != NULL && (made = malloc(sizeof *made)) == NULL)
		return error_no_memory("an executor", sizeof *made);
	fork_watch();
	if (made != NULL)
		*made = (struct executor){ fn, ctx, fork_generation(), 1 };
	pthread_mutex_lock(&lock);
	before = executor;
	executor = made;
	atomic_store(&is_set, fn != NULL);
	pthread_mutex_unlock(&lock);
	if (n_inside == 0)
		await_last_use(before);
	give_back(before);
	return CHOIR_SUCCESS;
}

static struct executor *take(void)
{
	struct executor *used;

	pthread_mutex_lock(&lock);
	used = executor;
	if (used != NULL)
		atomic_fetch_add(&used->uses, 1);
	pthread_mutex_unlock(&lock);
	return used;
}

bool executor_take(choir_work_fn work, void *arg)
{
	struct executor *used;

	if (!atomic_load_explicit(&is_set, memory_order_acquire))
		return false;
	used = take();
	if (used == NULL)
		return false;
	n_inside++;
	used->fn(used->ctx, work, arg);
	n_inside--;
	give_back(used);
	return true;
}
