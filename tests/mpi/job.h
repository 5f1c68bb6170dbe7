/* SPDX-License-Identifier: MIT */
/* A test job under mpiexec: every rank runs the same cases; what any of them finds makes all of them fail.  No wait is
 * without an end. */
#ifndef TESTS_JOB_H
#define TESTS_JOB_H

#include "lib/ranks.h"
#include "world/matrix.h"

#include <choir/mpi.h>

enum { JOB_DEADLINE_MS = 60000, JOB_MOST_LOCAL = 4 };

struct job {
	int rank, size;     /* of processes */
	struct world world; /* failures of this process, and its device */
};

/* job_begin: initialises MPI with at least that thread level and starts a watchdog that ends the process.  job_end
 * finalises, and ends the process with the outcome if MPI_Finalize hangs. */
void job_begin(struct job *job, int thread_level, unsigned watchdog_s);
void job_end(struct job *job, bool good);

/* job_agree: true if no process has a failure; prints this one's. */
bool job_agree(struct job *job, const char *what);

/* job_comms: n_local ranks of this process over MPI_COMM_WORLD; false after noting why not. */
bool job_comms(struct job *job, int n_local, const char *name, choir_comm **comms);

/* job_await: tests until it is done, giving the core away in between: with more ranks than cores MPI's own waiting
 * takes milliseconds. */
bool job_await(struct job *job, MPI_Request *request);

/* job_meet: all processes come, or the failure is noted. */
bool job_meet(struct job *job);

#endif
