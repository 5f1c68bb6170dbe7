/* SPDX-License-Identifier: MIT */
/* One trial: processes are forked, the victim ended, what the others say judged. */
#include "lib/ranks.h"
#include "trials/trials.h"
#include "world/world.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { START_MS = 60000, HANG_MS = 40000, EXIT_MS = 10000, POLL_NS = 200000 };

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

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){ 0, POLL_NS }, NULL);
}

/* No process's end is to tell what an abort tells. */
static void wait_for_others(const struct trial *t, const struct table *table)
{
	int64_t limit = rank_now_ms() + EXIT_MS;

	for (int r = 0; r < t->n; r++)
		while (!atomic_load(&table->outcomes[r].returned) && rank_now_ms() < limit)
			pause_shortly();
}

static int be_process(const struct rank *me, void *ctx)
{
	const struct setting_of *on = ctx;
	choir_comm_config config = config_of(on->trial);
	choir_bootstrap boot = rank_bootstrap(me);
	choir_device *device = world_device();
	choir_comm *comm;

	if (choir_comm_create(&boot, 1, &device, &config, &comm) != CHOIR_SUCCESS)
		return fails_to_open(me->rank);
	rank_main(on->trial, on->table, me->rank, comm);
	if (on->trial->ending == ENDS_ABORTED)
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
		devices[r] = world_device();
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
	return t->setting == AS_THREADS ? ranks_fork(ranks, 1, 1, be_threads, &on)
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

static bool is_gone(const struct trial *t, int rank)
{
	return rank == t->victim && (t->ending == ENDS_KILLED || t->ending == ENDS_STOPPED);
}

static bool all_returned(const struct trial *t, struct table *table)
{
	for (int r = 0; r < t->n; r++)
		if (!atomic_load(&table->outcomes[r].returned) && !is_gone(t, r))
			return false;
	return true;
}

static void end_victim(const struct trial *t, struct table *table, const struct ranks *ranks)
{
	nanosleep(&(struct timespec){ 0, t->delay_us * 1000 }, NULL);
	if (t->ending == ENDS_KILLED)
		kill(ranks->pids[t->victim], SIGKILL);
	else if (t->ending == ENDS_STOPPED)
		kill(ranks->pids[t->victim], SIGSTOP);
	atomic_store(&table->end_now, true);
}

static bool fails(char *why, size_t bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, bytes, format, args);
	va_end(args);
	return false;
}

/* All of the trial's processes end, those that hang by a signal. */
static bool reap(const struct trial *t, struct ranks *ranks, char why[RANKS_WHY_BYTES])
{
	bool gone = is_gone(t, t->victim);

	if (gone && ranks->started > t->victim) /* it may only be stopped */
		kill(ranks->pids[t->victim], SIGKILL);
	ranks_join(ranks, EXIT_MS);
	return ranks_are_good(ranks, gone ? t->victim : -1, why);
}

/* "rank 1", and not "rank 12". */
static bool names(const char *text, const char *before, int rank)
{
	char words[64];
	const char *at;

	snprintf(words, sizeof words, "%srank %d", before, rank);
	at = strstr(text, words);
	return at != NULL && (at[strlen(words)] < '0' || at[strlen(words)] > '9');
}

/* Does the sentence say the right thing of the victim? */
static bool is_right(const struct trial *t, const struct outcome *o)
{
	bool late = o->status == CHOIR_TIMEOUT && names(o->text, "waits for ", t->victim);

	switch (t->ending) {
	case ENDS_KILLED:
		if (o->status == CHOIR_PEER_DEAD)
			return names(o->text, "", t->victim) && strstr(o->text, "is dead") != NULL;
		return t->ranks_per_node > 0 &&
		       (late || (o->status == CHOIR_TRANSPORT && names(o->text, "", t->victim)));
	case ENDS_STOPPED:
		return late;
	case ENDS_ABORTED:
		return o->status == CHOIR_ABORTED && names(o->text, "aborted by ", t->victim);
	case ENDS_DESTROYED:
		return (o->status == CHOIR_PEER_DEAD || o->status == CHOIR_ABORTED) && names(o->text, "", t->victim);
	default:
		return o->status == CHOIR_SUCCESS;
	}
}

static bool judge(const struct trial *t, const struct table *table, int64_t *worst_ms, char *why, size_t bytes)
{
	for (int r = 0; r < t->n; r++) {
		const struct outcome *o = &table->outcomes[r];

		if (is_gone(t, r) || (t->ending == ENDS_DESTROYED && r == t->victim))
			continue;
		*worst_ms = o->ms > *worst_ms ? o->ms : *worst_ms;
		if (o->wrong_data)
			return fails(why, bytes, "rank %d got wrong data", r);
		if (o->ms > trial_deadline_ms(t) + LATE_MS)
			return fails(why, bytes, "rank %d returned after %lld ms: %s", r, (long long)o->ms, o->text);
		if (!is_right(t, o))
			return fails(why, bytes, "rank %d: %s: %s", r, choir_status_name(o->status), o->text);
	}
	return true;
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
		return fails(why, bytes, "no shared memory");
	started = start(t, table, &ranks);
	while (started && !all_called(t, table, t->after_calls) && rank_now_ms() < limit)
		pause_shortly();
	started = started && all_called(t, table, t->after_calls);
	if (started)
		end_victim(t, table, &ranks);
	limit = rank_now_ms() + HANG_MS;
	while (started && !all_returned(t, table) && rank_now_ms() < limit)
		pause_shortly();
	good = all_returned(t, table);
	ended = reap(t, &ranks, how);
	if (!started)
		good = fails(why, bytes, "the ranks did not begin");
	else if (!good)
		(void)fails(why, bytes, "a rank hangs");
	else
		good = judge(t, table, worst_ms, why, bytes);
	if (!ended)
		good = fails(why, bytes, "%s", how);
	munmap(table, sizeof *table);
	return good;
}
