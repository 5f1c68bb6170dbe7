/* SPDX-License-Identifier: MIT */
/* One trial: processes are forked, the victim ended, what the others say judged. */
#include "trials/trials.h"
#include "world/world.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_MS = 60000, HANG_MS = 15000, EXIT_MS = 10000, POLL_NS = 200000 };

struct seat {
	const struct trial *trial;
	struct table *table;
	int rank;
	choir_comm *comm;
};

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct seat *seat = ctx;

	if (bytes > GATHER_BYTES)
		return 1;
	memcpy(seat->table->gathered[seat->rank], mine, bytes);
	pthread_barrier_wait(&seat->table->barrier);
	for (int p = 0; p < seat->trial->n; p++)
		memcpy((unsigned char *)all + (size_t)p * bytes, seat->table->gathered[p], bytes);
	pthread_barrier_wait(&seat->table->barrier);
	return 0;
}

static choir_comm_config config_of(const struct trial *t)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = DEADLINE_MS;
	config.warn_ms = 60000;
	config.ranks_per_node = t->ranks_per_node;
	return config;
}

static void drop(const struct trial *t, int rank, choir_comm *comm)
{
	if (t->ending != ENDS_DESTROYED || rank != t->victim)
		choir_comm_destroy(comm);
}

static void be_process(struct seat *seat)
{
	const struct trial *t = seat->trial;
	choir_comm_config config = config_of(t);
	choir_bootstrap boot = { sizeof boot, seat->rank, t->n, gather, seat };
	choir_device *device = world_device();

	if (choir_comm_create(&boot, 1, &device, &config, &seat->comm) != CHOIR_SUCCESS) {
		fprintf(stderr, "rank %d: %s\n", seat->rank, choir_last_error());
		_exit(2);
	}
	rank_main(t, seat->table, seat->rank, seat->comm);
	drop(t, seat->rank, seat->comm);
	world_device_drop();
	_exit(0);
}

static void *be_thread(void *arg)
{
	struct seat *seat = arg;

	rank_main(seat->trial, seat->table, seat->rank, seat->comm);
	return NULL;
}

static void be_threads(const struct trial *t, struct table *table)
{
	choir_comm_config config = config_of(t);
	choir_device *devices[MOST_RANKS];
	choir_comm *comms[MOST_RANKS];
	struct seat seats[MOST_RANKS];
	pthread_t threads[MOST_RANKS];

	for (int r = 0; r < t->n; r++)
		devices[r] = world_device();
	if (choir_comm_create_local(t->n, devices, &config, comms) != CHOIR_SUCCESS) {
		fprintf(stderr, "%s\n", choir_last_error());
		_exit(2);
	}
	for (int r = 0; r < t->n; r++) {
		seats[r] = (struct seat){ t, table, r, comms[r] };
		if (pthread_create(&threads[r], NULL, be_thread, &seats[r]) != 0)
			_exit(2);
	}
	for (int r = 0; r < t->n; r++)
		pthread_join(threads[r], NULL);
	for (int r = 0; r < t->n; r++)
		drop(t, r, comms[r]);
	world_device_drop();
	_exit(0);
}

static int processes_of(const struct trial *t)
{
	return t->setting == AS_THREADS ? 1 : t->n;
}

static void start(const struct trial *t, struct table *table, pid_t *pids)
{
	fflush(NULL);
	for (int p = 0; p < processes_of(t); p++) {
		pids[p] = fork();
		if (pids[p] != 0)
			continue;
		if (t->setting == AS_THREADS)
			be_threads(t, table);
		be_process(&(struct seat){ t, table, p, NULL });
	}
}

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){ 0, POLL_NS }, NULL);
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

static void end_victim(const struct trial *t, struct table *table, const pid_t *pids)
{
	nanosleep(&(struct timespec){ 0, t->delay_us * 1000 }, NULL);
	if (t->ending == ENDS_KILLED)
		kill(pids[t->victim], SIGKILL);
	else if (t->ending == ENDS_STOPPED)
		kill(pids[t->victim], SIGSTOP);
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
static bool reap(const struct trial *t, const pid_t *pids, char *why, size_t bytes)
{
	double limit = trial_now_ms() + EXIT_MS;
	bool good = true;

	for (int p = 0; p < processes_of(t); p++) {
		int status = 0;
		bool gone = t->setting != AS_THREADS && is_gone(t, p), killed = false;

		if (gone)
			kill(pids[p], SIGKILL);
		while (waitpid(pids[p], &status, WNOHANG) == 0) {
			if (trial_now_ms() > limit && !killed) {
				killed = true;
				kill(pids[p], SIGKILL);
			}
			pause_shortly();
		}
		if (killed)
			good = fails(why, bytes, "process %d did not end", p);
		else if (!gone && WIFSIGNALED(status))
			good = fails(why, bytes, "process %d ended by signal %d", p, WTERMSIG(status));
		else if (!gone && WEXITSTATUS(status) != 0)
			good = fails(why, bytes, "process %d ended with status %d", p, WEXITSTATUS(status));
	}
	return good;
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
		return late ||
		       ((o->status == CHOIR_PEER_DEAD || o->status == CHOIR_ABORTED) && names(o->text, "", t->victim));
	default:
		return o->status == CHOIR_SUCCESS;
	}
}

static bool judge(const struct trial *t, const struct table *table, double *worst_ms, char *why, size_t bytes)
{
	for (int r = 0; r < t->n; r++) {
		const struct outcome *o = &table->outcomes[r];

		if (is_gone(t, r) || (t->ending == ENDS_DESTROYED && r == t->victim))
			continue;
		*worst_ms = o->ms > *worst_ms ? o->ms : *worst_ms;
		if (o->wrong_data)
			return fails(why, bytes, "rank %d got wrong data", r);
		if (o->ms > DEADLINE_MS + LATE_MS)
			return fails(why, bytes, "rank %d returned after %.0f ms: %s", r, o->ms, o->text);
		if (!is_right(t, o))
			return fails(why, bytes, "rank %d: %s: %s", r, choir_status_name(o->status), o->text);
	}
	return true;
}

static struct table *make_table(const struct trial *t)
{
	struct table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	if (table == MAP_FAILED)
		return NULL;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&table->barrier, &attr, (unsigned)t->n);
	return table;
}

bool trial_run(const struct trial *t, double *worst_ms, char *why, size_t bytes)
{
	struct table *table = make_table(t);
	double limit = trial_now_ms() + START_MS;
	pid_t pids[MOST_RANKS];
	char how[200];
	bool ended, started, good;

	*worst_ms = 0;
	if (table == NULL)
		return fails(why, bytes, "no shared memory");
	start(t, table, pids);
	while (!all_called(t, table, t->after_calls) && trial_now_ms() < limit)
		pause_shortly();
	started = all_called(t, table, t->after_calls);
	end_victim(t, table, pids);
	limit = trial_now_ms() + HANG_MS;
	while (!all_returned(t, table) && trial_now_ms() < limit)
		pause_shortly();
	good = all_returned(t, table);
	ended = reap(t, pids, how, sizeof how);
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
