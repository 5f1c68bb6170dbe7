/* SPDX-License-Identifier: MIT */
/* One trial: processes are forked, the victim ended, what the others say judged. */
#include "lib/ranks.h"
#include "trials/judge.h"
#include "world/world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { START_MS = 60000, HANG_MS = 40000, EXIT_MS = 10000, POLL_US = 200 };

/* What the ranks of a trial run on. */
struct setting_of {
	const struct trial *trial;
	struct table *table;
	choir_comm **comms; /* of threads */
};

static choir_comm_config config_of(const struct trial *t)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = trial_deadline_ms(t);
	config.warn_ms = 60000;
	config.ranks_per_node = t->ranks_per_node;
	return config;
}

/* In a forked process, which reads the class from its environment. */
static choir_device *device_of(const struct trial *t)
{
	if (t->memory_class != CHOIR_CLASS_AUTO)
		setenv("CHOIR_CLASS", choir_memory_class_name(t->memory_class), 1);
	return world_device();
}

static void drop(const struct trial *t, int rank, choir_comm *comm)
{
	if (t->ending != ENDS_DESTROYED || rank != t->victim)
		choir_comm_destroy(comm);
}

static int fails_to_open(int rank)
{
	fprintf(stderr, "rank %d: %s\n", rank, choir_last_error());
	return 2;
}

static void pause_us(int64_t us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

/* No process's end is to tell what an abort or a destroy tells. */
static void wait_for_others(const struct trial *t, const struct table *table)
{
	int64_t limit = rank_now_ms() + EXIT_MS;

	for (int r = 0; r < t->n; r++)
		while (!atomic_load(&table->outcomes[r].returned) && rank_now_ms() < limit)
			pause_us(POLL_US);
}

static int be_process(const struct rank *me, void *ctx)
{
	const struct setting_of *on = ctx;
	choir_comm_config config = config_of(on->trial);
	choir_bootstrap boot = rank_bootstrap(me);
	choir_device *device = device_of(on->trial);
	choir_comm *comm;

	if (choir_comm_create(&boot, 1, &device, &config, &comm) != CHOIR_SUCCESS)
		return fails_to_open(me->rank);
	rank_main(on->trial, on->table, me->rank, comm);
	if (on->trial->ending == ENDS_ABORTED || on->trial->ending == ENDS_DESTROYED)
		wait_for_others(on->trial, on->table);
	drop(on->trial, me->rank, comm);
	world_device_drop();
	return 0;
}

static int be_thread(const struct rank *me, void *ctx)
{
	const struct setting_of *on = ctx;

	rank_main(on->trial, on->table, me->rank, on->comms[me->rank]);
	return 0;
}

/* One process, a thread for each rank. */
static int be_threads(const struct rank *me, void *ctx)
{
	struct setting_of on = *(struct setting_of *)ctx;
	choir_comm_config config = config_of(on.trial);
	choir_device *devices[MOST_RANKS];
	choir_comm *comms[MOST_RANKS];

	for (int r = 0; r < on.trial->n; r++)
		devices[r] = device_of(on.trial);
	if (choir_comm_create_local(on.trial->n, devices, &config, comms) != CHOIR_SUCCESS)
		return fails_to_open(me->rank);
	on.comms = comms;
	(void)ranks_as_threads(on.trial->n, be_thread, &on);
	for (int r = 0; r < on.trial->n; r++)
		drop(on.trial, r, comms[r]);
	world_device_drop();
	return 0;
}

static bool start(const struct trial *t, struct table *table, struct ranks *ranks)
{
	struct setting_of on = { t, table, NULL };

	fflush(NULL);
	return t->setting >= AS_THREADS ? ranks_fork(ranks, 1, 1, be_threads, &on)
	                                : ranks_fork(ranks, t->n, t->n, be_process, &on);
}

/* Has every rank begun that many calls, or stopped calling? */
static bool all_called(const struct trial *t, struct table *table, int calls)
{
	for (int r = 0; r < t->n; r++)
		if (atomic_load(&table->calls[r]) < calls && !atomic_load(&table->outcomes[r].returned))
			return false;
	return true;
}

static bool all_returned(const struct trial *t, struct table *table)
{
	for (int r = 0; r < t->n; r++)
		if (!atomic_load(&table->outcomes[r].returned) && !judge_is_gone(t, r))
			return false;
	return true;
}

/* The number of calls is said once no rank can have begun another: each says that it begins one before it looks. */
static void close_calls(const struct trial *t, struct table *table)
{
	int most = 0;

	atomic_store(&table->closing, true);
	for (int r = 0; r < t->n; r++)
		most = table->calls[r] > most ? table->calls[r] : most;
	atomic_store(&table->n_calls, most + CALLS_OF_SLOW);
}

/* A process stops wherever it is; a thread sleeps between two calls. */
static void slow_victim(const struct trial *t, struct table *table, const struct ranks *ranks)
{
	const struct outcome *outcome = &table->outcomes[t->victim];

	if (t->setting < AS_THREADS) {
		kill(ranks->pids[t->victim], SIGSTOP);
		pause_us(SLOW_MS * 1000);
		kill(ranks->pids[t->victim], SIGCONT);
		atomic_store(&table->slept, true);
	}
	atomic_store(&table->end_now, true);
	while (!atomic_load(&table->slept) && !atomic_load(&outcome->returned))
		pause_us(POLL_US);
	close_calls(t, table);
}

static void end_victim(const struct trial *t, struct table *table, const struct ranks *ranks)
{
	pause_us(t->delay_us);
	if (t->ending == ENDS_SLOW)
		slow_victim(t, table, ranks);
	else if (t->ending <= ENDS_STOPPED)
		kill(ranks->pids[t->victim], t->ending == ENDS_KILLED ? SIGKILL : SIGSTOP);
	atomic_store(&table->end_now, true);
}

/* All of the trial's processes end, those that hang by a signal. */
static bool reap(const struct trial *t, struct ranks *ranks, char why[RANKS_WHY_BYTES])
{
	bool gone = judge_is_gone(t, t->victim);

	if (gone && ranks->started > t->victim) /* it may only be stopped */
		kill(ranks->pids[t->victim], SIGKILL);
	ranks_join(ranks, EXIT_MS);
	return ranks_are_good(ranks, gone ? t->victim : -1, why);
}

bool trial_run(const struct trial *t, int64_t *worst_ms, char *why, size_t bytes)
{
	struct table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t limit = rank_now_ms() + START_MS;
	char how[RANKS_WHY_BYTES];
	bool ended, started, good;
	struct ranks ranks;

	*worst_ms = 0;
	if (table == MAP_FAILED)
		return judge_fails(why, bytes, "no shared memory");
	started = start(t, table, &ranks);
	while (started && !all_called(t, table, t->after_calls) && rank_now_ms() < limit)
		pause_us(POLL_US);
	started = started && all_called(t, table, t->after_calls);
	if (started)
		end_victim(t, table, &ranks);
	limit = rank_now_ms() + HANG_MS;
	while (started && !all_returned(t, table) && rank_now_ms() < limit)
		pause_us(POLL_US);
	good = all_returned(t, table);
	ended = reap(t, &ranks, how);
	if (!started)
		good = judge_fails(why, bytes, "the ranks did not begin");
	else if (!good)
		(void)judge_fails(why, bytes, "a rank hangs");
	else
		good = judge_trial(t, table, worst_ms, why, bytes);
	if (!ended)
		good = judge_fails(why, bytes, "%s", how);
	munmap(table, sizeof *table);
	return good;
}
