/* SPDX-License-Identifier: MIT */
#include "mpi/job.h"

#include "lib/leave_mpi.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hangs(int signal)
{
	static const char text[] = "a rank hangs: ended by its watchdog\n";

	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	_exit(signal);
}

static void print_log(void *ctx, int level, const char *text)
{
	const struct job *job = ctx;

	if (level <= 1)
		fprintf(stderr, "process %d: %s\n", job->rank, text);
}

void job_begin(struct job *job, int thread_level, unsigned watchdog_s)
{
	int provided = 0;

	memset(job, 0, sizeof *job);
	signal(SIGALRM, hangs);
	alarm(watchdog_s);
	MPI_Init_thread(NULL, NULL, thread_level, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job->size);
	if (getenv("JOB_LOG") != NULL)
		choir_set_log(print_log, job);
	job->world.n = job->size;
	job->world.device = world_device();
	if (provided < thread_level)
		world_fail(&job->world, job->rank, "MPI gives thread level %d instead of %d", provided, thread_level);
}

bool job_await(struct job *job, MPI_Request *request)
{
	int64_t end = rank_now_ms() + JOB_DEADLINE_MS;

	for (int done = 0;;) {
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (done)
			return true;
		if (rank_now_ms() > end) {
			world_fail(&job->world, job->rank, "MPI itself is not done in %d ms", JOB_DEADLINE_MS);
			return false;
		}
		sched_yield();
	}
}

bool job_meet(struct job *job)
{
	MPI_Request request;

	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	return job_await(job, &request);
}

bool job_agree(struct job *job, const char *what)
{
	int mine = job->world.failure[0] != '\0', any = 1;
	MPI_Request request;

	if (mine)
		fprintf(stderr, "%s: %s\n", what, job->world.failure);
	MPI_Iallreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
	if (!job_await(job, &request))
		_exit(1);
	return any == 0;
}

void job_end(struct job *job, bool good)
{
	(void)job;
	world_device_drop();
	leave_mpi(good ? 0 : 1);
}

bool job_comms(struct job *job, int n_local, const char *name, choir_comm **comms)
{
	choir_device *devices[JOB_MOST_LOCAL];
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_status st;

	for (int i = 0; i < n_local; i++)
		devices[i] = job->world.device;
	config.deadline_ms = JOB_DEADLINE_MS;
	config.name = name;
	st = choir_comm_create_mpi(MPI_COMM_WORLD, n_local, devices, &config, comms);
	if (st == CHOIR_SUCCESS)
		job->world.n = choir_comm_size(comms[0]);
	return world_is(&job->world, job->rank, st, CHOIR_SUCCESS, "choir_comm_create_mpi");
}
