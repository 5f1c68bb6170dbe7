/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include "report.h"
#include "bench/ranks/world.h"

#include "lib/number.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GRACE_S = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const struct args *args; /* NULL = there is nothing to write */
	struct world *world;
	json_t *header;
	const struct results *results;
} kept;

/* The lock is never given back: no row is added any more. */
static void write_kept(void)
{
	pthread_mutex_lock(&lock);
	if (kept.args == NULL)
		return;
	json_object_set_new(kept.header, "interrupted", json_true());
	if (kept.results->n > 0)
		report_write(kept.args, kept.header, kept.results);
	report_remove_empty();
	fprintf(stderr, "\nchoir-bench: interrupted after %zu row%s%s\n", kept.results->n,
	        number_plural(kept.results->n), kept.args->tune ? ": no rules are written" : "");
	world_fail(kept.world, EXIT_INTERRUPTED);
}

static void *take_sigint(void *set)
{
	int signal;

	sigwait(set, &signal);
	write_kept();
	/* Another process may be rank 0, and still writing; it ends all. */
	if (getenv("PMI_RANK") != NULL)
		sleep(GRACE_S);
	_exit(EXIT_INTERRUPTED);
}

void interrupt_watch(void)
{
	static sigset_t set;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return;
	if (pthread_create(&thread, NULL, take_sigint, &set) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void interrupt_keep(const struct args *args, struct world *world, json_t *header, const struct results *results)
{
	pthread_mutex_lock(&lock);
	kept.args = args;
	kept.world = world;
	kept.header = header;
	kept.results = results;
	pthread_mutex_unlock(&lock);
}

void interrupt_done(void)
{
	interrupt_keep(NULL, NULL, NULL, NULL);
}

void interrupt_add(struct results *results, const struct result *row)
{
	pthread_mutex_lock(&lock);
	results_add(results, row);
	pthread_mutex_unlock(&lock);
}
