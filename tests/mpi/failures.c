/* SPDX-License-Identifier: MIT */
/* What goes wrong on one rank ends on all of them, in time and with its name. */
#include "mpi/cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 3001, LATE_MS = 500, DEATH_MS = 3000, END_MS = 15000 };

/* The failure sticks, later calls return it, and the comm can still be destroyed. */
static void after_failure(struct world *world, int rank, choir_comm *comm, choir_status wanted)
{
	static int32_t data[COUNT];
	int64_t start = rank_now_ms();

	IS(choir_comm_status(comm), wanted);
	IS(choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL),
	   wanted);
	OK(choir_comm_destroy(comm));
	CHECK(rank_now_ms() - start < 5000);
}

/* A comm whose calls have all ended on all ranks: a failure of one of them would end what the others have in flight. */
static bool begin(struct job *job, const char *name, choir_comm **comm_p)
{
	struct world *world = &job->world;
	int rank = job->rank;

	if (!job_comms(job, 1, name, comm_p))
		return false;
	OK(choir_barrier(*comm_p, NULL, NULL));
	return job_meet(job);
}

/* The call fails, at once if the failure was here before it, else through its event.  The sentence is then the last
 * error. */
static bool ends(struct world *world, int rank, choir_status st, choir_event *event, choir_status wanted)
{
	if (event != NULL)
		st = choir_event_wait(event, -1);
	choir_event_release(event);
	return IS(st, wanted);
}

/* The odd one differs in the count, the operator or the whole collective (a root would be done before anybody
 * complains). */
static choir_status call_differently(choir_comm *comm, int32_t *data, int how, int another, choir_event **event_p)
{
	choir_buffer buffer = choir_host(data);

	switch (how) {
	case 0:
		return choir_allreduce(comm, buffer, buffer, COUNT - 1, CHOIR_I32, CHOIR_OP_SUM, NULL, event_p);
	case 1:
		return choir_allreduce(comm, buffer, buffer, COUNT, CHOIR_I32, CHOIR_OP_MAX, NULL, event_p);
	case 2:
		return choir_broadcast(comm, buffer, buffer, COUNT, CHOIR_I32, another, NULL, event_p);
	default:
		return choir_barrier(comm, NULL, event_p);
	}
}

static const char *const differences[][2] = {
	{ "3000", "3001" }, { "max", "sum" }, { "broadcast", "allreduce" }, { "barrier", "allreduce" }
};

static void mismatch(struct job *job, int how)
{
	static int32_t data[COUNT];
	struct world *world = &job->world;
	int rank = job->rank, odd = (how + 1) % job->size;
	choir_comm *comm;
	choir_event *event = NULL;
	choir_status st;
	char text[40];
	int64_t start;

	if (!begin(job, "unequal", &comm))
		return;
	start = rank_now_ms();
	st = rank == odd ? call_differently(comm, data, how, (odd + 1) % job->size, &event)
	                 : choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_I32, CHOIR_OP_SUM,
	                                   NULL, &event);
	if (ends(world, rank, st, event, CHOIR_MISMATCH)) {
		const char *sentence = choir_last_error();

		snprintf(text, sizeof text, "rank %d calls", odd);
		if (strstr(sentence, text) == NULL || strstr(sentence, differences[how][0]) == NULL ||
		    strstr(sentence, differences[how][1]) == NULL)
			world_fail(world, rank, "the sentence should name rank %d, %s and %s: %s", odd,
			           differences[how][0], differences[how][1], sentence);
	}
	CHECK(rank_now_ms() - start < 10000);
	job_meet(job); /* nobody is gone before all have seen it */
	after_failure(world, rank, comm, CHOIR_MISMATCH);
}

void case_mismatch(struct job *job)
{
	if (job->size == 1)
		return;
	for (int how = 0; how < 4; how++)
		mismatch(job, how);
}

static choir_status reduce_late(choir_comm *comm, choir_event **event_p)
{
	static int32_t data[COUNT];
	choir_call call = CHOIR_CALL_INIT;

	call.deadline_ms = LATE_MS;
	return choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_I32, CHOIR_OP_SUM, &call,
	                       event_p);
}

/* Rank 0 does not call: the others say so, and rank 0 finds its comm failed. */
void case_silent(struct job *job)
{
	struct world *world = &job->world;
	int rank = job->rank;
	choir_comm *comm;
	choir_event *event = NULL;
	int64_t start;

	if (job->size == 1 || !begin(job, "silent", &comm))
		return;
	start = rank_now_ms();
	if (rank != 0) {
		choir_status st = reduce_late(comm, &event);

		if (ends(world, rank, st, event, CHOIR_TIMEOUT)) {
			const char *sentence = choir_last_error();

			if (strstr(sentence, "waits for rank ") == NULL || strstr(sentence, "allreduce") == NULL)
				world_fail(world, rank, "the sentence names no rank or call: %s", sentence);
			CHECK(job->size > 2 || strstr(sentence, "waits for rank 0") != NULL);
		}
		CHECK(rank_now_ms() - start < END_MS);
		/* of several that wait, one may learn it from another that began before */
		CHECK(job->size > 2 || rank_now_ms() - start >= LATE_MS - 100);
	}
	job_meet(job);
	if (rank == 0)
		IS(choir_barrier(comm, NULL, NULL), CHOIR_TIMEOUT); /* learnt from the others at its next call */
	job_meet(job);
	after_failure(world, rank, comm, CHOIR_TIMEOUT);
}

/* The last rank aborts while the others wait. */
void case_abort(struct job *job)
{
	static int32_t data[COUNT];
	struct world *world = &job->world;
	int rank = job->rank;
	choir_comm *comm;
	choir_event *event = NULL;
	int64_t start;

	if (!begin(job, "aborted", &comm))
		return;
	start = rank_now_ms();
	if (rank == job->size - 1) {
		OK(choir_comm_abort(comm));
	} else {
		choir_status st = choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_I32,
		                                  CHOIR_OP_SUM, NULL, &event);

		if (ends(world, rank, st, event, CHOIR_ABORTED))
			CHECK(strstr(choir_last_error(), "aborted by rank") != NULL);
	}
	CHECK(rank_now_ms() - start < 10000);
	job_meet(job);
	after_failure(world, rank, comm, CHOIR_ABORTED);
}

/* mpiexec may lose what is printed after a death, so the line goes to a file JOB_REPORT/rank. */
static void report(int rank, const char *line)
{
	const char *folder = getenv("JOB_REPORT");
	char unfinished[512], finished[512];
	FILE *file;

	if (folder == NULL) {
		printf("%s\n", line);
		return;
	}
	snprintf(unfinished, sizeof unfinished, "%s/.%d", folder, rank);
	snprintf(finished, sizeof finished, "%s/%d", folder, rank);
	file = fopen(unfinished, "w");
	if (file != NULL && fprintf(file, "%s\n", line) > 0 && fclose(file) == 0)
		rename(unfinished, finished);
}

/* A stopped process would be left behind for ever. */
static void stop(choir_comm *comm)
{
	enum { STOPPED_S = 6 };

	(void)comm;
	if (fork() == 0) {
		sleep(STOPPED_S);
		kill(getppid(), SIGKILL);
		_exit(0);
	}
	raise(SIGSTOP);
}

static void kill_self(choir_comm *comm)
{
	(void)comm;
	raise(SIGKILL);
}

/* The process stays until the others have reported: they are not to learn from its end. */
static void destroy(choir_comm *comm)
{
	enum { TRIES = 200 };
	char over[512];

	choir_comm_destroy(comm);
	snprintf(over, sizeof over, "%s/over", getenv("JOB_REPORT") != NULL ? getenv("JOB_REPORT") : "");
	for (int i = 0; i < TRIES && access(over, F_OK) != 0; i++)
		usleep(100000);
	_exit(0);
}

static void end_orderly(choir_comm *comm)
{
	(void)comm;
	exit(0);
}

/* How rank 1 goes, within a call or between two, and a text that stands in the others' sentence. */
static const struct death {
	const char *name;
	void (*die)(choir_comm *comm);
	bool in_call;
	const char *says;
} deaths[] = {
	{ "kill", kill_self, true, "" },
	{ "stop", stop, true, "" },
	{ "destroy", destroy, false, "waits for rank 1, which destroyed its comm after allreduce #19 (300000 x f32" },
	{ "exit", end_orderly, false, "waits for rank 1, whose process ended after allreduce #19 (300000 x f32" },
};

static const struct death *find_death(const char *name)
{
	for (size_t i = 0; i < sizeof deaths / sizeof *deaths && name != NULL; i++)
		if (strcmp(deaths[i].name, name) == 0)
			return &deaths[i];
	return &deaths[0];
}

/* JOB_DEATH: a name above (default: kill).  JOB_EXPECT: the statuses the others may see; TIMEOUT and TRANSPORT may come
 * as late as the deadline. */
void case_killed(struct job *job)
{
	enum { ROUNDS = 40, VICTIM_DIES_AT = 20, LARGE = 300000 };
	static float data[LARGE];
	const struct death *death = find_death(getenv("JOB_DEATH"));
	const char *expected = getenv("JOB_EXPECT");
	choir_status st = CHOIR_SUCCESS;
	choir_call call = CHOIR_CALL_INIT;
	int64_t last = 0, took;
	choir_comm *comm;
	char name[32], line[700];
	bool good;

	/* by which mpiexec tells of deaths; MPICH no longer handles it, and its default is to end the process */
	signal(SIGUSR1, SIG_IGN);
	signal(SIGPIPE, SIG_IGN); /* mpiexec's helper may go at the first death */
	if (!job_comms(job, 1, "killed", &comm)) {
		fprintf(stderr, "%s\n", job->world.failure);
		_exit(1);
	}
	call.deadline_ms = DEATH_MS;
	for (int i = 0; i < ROUNDS && st == CHOIR_SUCCESS; i++) {
		if (job->rank == 1 && i == VICTIM_DIES_AT) {
			choir_event *event = NULL;

			if (death->in_call) {
				(void)choir_allreduce(comm, choir_host(data), choir_host(data), LARGE, CHOIR_F32,
				                      CHOIR_OP_SUM, &call, &event);
				(void)choir_event_wait(event, i % 2);
			}
			death->die(comm);
		}
		last = rank_now_ms();
		st = choir_allreduce(comm, choir_host(data), choir_host(data), LARGE, CHOIR_F32, CHOIR_OP_SUM, &call,
		                     NULL);
	}
	took = rank_now_ms() - last;
	snprintf(name, sizeof name, " %s ", choir_status_name(st));
	good = strstr(expected != NULL ? expected : " PEER_DEAD ", name) != NULL &&
	       (st == CHOIR_TIMEOUT || st == CHOIR_TRANSPORT || took < DEATH_MS) && took < 2 * DEATH_MS &&
	       strstr(choir_last_error(), death->says) != NULL;
	if (st == CHOIR_TIMEOUT) /* not one that waits for the stopped one itself */
		good &= strstr(choir_last_error(), "waits for rank 1") != NULL;
	snprintf(line, sizeof line, "rank %d %s:%s%.400s, after %lld ms", job->rank, good ? "survived" : "failed", name,
	         choir_last_error(), (long long)took);
	report(job->rank, line);
	choir_comm_destroy(comm);
	_exit(0); /* MPI_Finalize would wait for the dead */
}
