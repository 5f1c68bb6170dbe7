/* SPDX-License-Identifier: MIT */
#include "exec/worker.h"

#include "base/fork.h"
#include "base/thread_start.h"

#include <stdlib.h>

struct job {
	struct job *next;
	void (*work)(void *);
	void *arg;
};

static struct worker {
	pthread_mutex_t lock;
	pthread_cond_t due;
	struct job *first, *last; /* not begun; under the lock, as are the fields behind it */
	bool started, ends;
	pthread_t thread;
} workers[WORKERS] = { { .lock = PTHREAD_MUTEX_INITIALIZER, .due = PTHREAD_COND_INITIALIZER },
	               { .lock = PTHREAD_MUTEX_INITIALIZER, .due = PTHREAD_COND_INITIALIZER } };

static void forked(void)
{
	for (struct worker *worker = workers; worker < workers + WORKERS; worker++) {
		pthread_mutex_init(&worker->lock, NULL);
		pthread_cond_init(&worker->due, NULL);
		worker->first = NULL;
		worker->started = worker->ends = false;
	}
}

/* NULL: the thread ends. */
static struct job *next_job(struct worker *worker)
{
	struct job *job;

	pthread_mutex_lock(&worker->lock);
	while (worker->first == NULL && !worker->ends)
		pthread_cond_wait(&worker->due, &worker->lock);
	job = worker->first;
	if (job != NULL)
		worker->first = job->next;
	pthread_mutex_unlock(&worker->lock);
	return job;
}

static void *do_jobs(void *worker)
{
	for (struct job *job = next_job(worker); job != NULL; job = next_job(worker)) {
		job->work(job->arg);
		free(job);
	}
	return NULL;
}

/* Under the lock. */
static bool is_there(struct worker *worker)
{
	if (!worker->started && !worker->ends)
		worker->started = thread_start(&worker->thread, do_jobs, worker) == 0;
	return worker->started && !worker->ends;
}

static void append(struct worker *worker, struct job *job)
{
	if (worker->first == NULL)
		worker->first = job;
	else
		worker->last->next = job;
	worker->last = job;
	pthread_cond_signal(&worker->due);
}

bool worker_take(enum worker_kind kind, void (*work)(void *), void *arg)
{
	struct worker *worker = &workers[kind];
	struct job *job = calloc(1, sizeof *job);
	bool taken;

	if (job == NULL)
		return false;
	job->work = work;
	job->arg = arg;
	fork_in_child(forked);
	pthread_mutex_lock(&worker->lock);
	taken = is_there(worker);
	if (taken)
		append(worker, job);
	pthread_mutex_unlock(&worker->lock);
	if (!taken)
		free(job);
	return taken;
}

bool worker_withdraw(enum worker_kind kind, void (*work)(void *), void *arg)
{
	struct worker *worker = &workers[kind];
	struct job **at = &worker->first, *found, *before = NULL;

	pthread_mutex_lock(&worker->lock);
	while ((found = *at) != NULL && (found->work != work || found->arg != arg)) {
		before = found;
		at = &found->next;
	}
	if (found != NULL)
		*at = found->next;
	if (found != NULL && worker->last == found)
		worker->last = before;
	pthread_mutex_unlock(&worker->lock);
	free(found);
	return found != NULL;
}

static void end(struct worker *worker)
{
	bool join;

	pthread_mutex_lock(&worker->lock);
	join = worker->started && !worker->ends && !pthread_equal(pthread_self(), worker->thread);
	worker->ends |= join;
	pthread_cond_signal(&worker->due);
	pthread_mutex_unlock(&worker->lock);
	if (!join)
		return;
	pthread_join(worker->thread, NULL);
	pthread_mutex_lock(&worker->lock);
	worker->started = worker->ends = false;
	pthread_mutex_unlock(&worker->lock);
}

void worker_end(void)
{
	for (struct worker *worker = workers; worker < workers + WORKERS; worker++)
		end(worker);
}
