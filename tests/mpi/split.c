/* SPDX-License-Identifier: MIT */
#include "mpi/cases.h"

#include <stddef.h>
#include <string.h>

/* Splits, runs a part of the table on the new comm and on its parent at odds, destroys in another order on every
 * rank. */
static void one_split(struct job *job, choir_comm *parent, int color, int key, int wanted_size, int wanted_rank)
{
	struct world *world = &job->world;
	int rank = job->rank;
	choir_comm *part = parent;

	if (!OK(choir_comm_split(parent, color, key, &part)))
		return;
	CHECK((part == NULL) == (color < 0));
	if (part != NULL) {
		CHECK(choir_comm_size(part) == wanted_size && choir_comm_rank(part) == wanted_rank);
		matrix_roots(world, choir_comm_rank(part), part, NULL);
		matrix_sizes(world, choir_comm_rank(part), part, world);
	}
	if (rank % 2 != 0)
		choir_comm_destroy(part);
	OK(choir_barrier(parent, NULL, NULL));
	if (rank % 2 == 0)
		choir_comm_destroy(part);
}

void case_split(struct job *job)
{
	int n = job->size, me = job->rank, half = (n + 1) / 2;
	choir_comm *comm, *whole = NULL;
	struct world *world = &job->world;
	int rank = me;

	if (!job_comms(job, 1, "split", &comm))
		return;
	one_split(job, comm, me % 2, -me, me % 2 ? n / 2 : half, (n - 1 - me) / 2); /* odd and even, backwards */
	one_split(job, comm, me < half, 0, me < half ? half : n - half, me < half ? me : me - half);
	one_split(job, comm, me == 0 ? 7 : -1, 0, 1, 0); /* one alone */
	one_split(job, comm, -1, 0, 0, 0);
	if (OK(choir_comm_split(comm, 0, 0, &whole))) { /* a child outlives its parent */
		choir_comm_destroy(comm);
		matrix_types(world, me, whole, &n);
		choir_comm_destroy(whole);
	}
}

/* Waits for, or sends, an empty message: a rank starts when the rank before it has gone on. */
static void pass(struct job *job, int from, int to)
{
	MPI_Request request = MPI_REQUEST_NULL;

	if (from >= 0)
		MPI_Irecv(NULL, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
	if (to < job->size && to > 0)
		MPI_Isend(NULL, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
	(void)job_await(job, &request);
}

static choir_status start(struct job *job, MPI_Comm parent, choir_comm **comm_p, choir_event **event_p)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = JOB_DEADLINE_MS;
	return choir_comm_create_mpi_start(parent, 1, &job->world.device, &config, comm_p, event_p);
}

/* A config that is longer than the library's, as of a newer header: it is refused, and its end is not read. */
static void wrong_size(struct job *job)
{
	struct {
		choir_comm_config config;
		unsigned char more[16384];
	} longer = { .config = CHOIR_COMM_CONFIG_INIT };
	struct world *world = &job->world;
	int rank = job->rank;
	choir_comm *comm;
	choir_event *event;

	memset(longer.more, 0xff, sizeof longer.more);
	longer.config.struct_size = sizeof longer;
	IS(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &world->device, &longer.config, &comm), CHOIR_ARGUMENT);
	IS(choir_comm_create_mpi_start(MPI_COMM_WORLD, 1, &world->device, &longer.config, &comm, &event),
	   CHOIR_ARGUMENT);
}

/* The executor, which is given nothing where the caller has no callback. */
static void count_work(void *works, choir_work_fn work, void *arg)
{
	(*(_Atomic int *)works)++;
	work(arg);
}

void case_starts(struct job *job)
{
	static _Atomic int works;
	choir_comm *comm = (choir_comm *)(void *)job; /* is NULL from the call on */
	struct world *world = &job->world;
	int rank = job->rank;
	choir_event *event = NULL;

	wrong_size(job);
	IS(start(job, MPI_COMM_NULL, &comm, &event), CHOIR_ARGUMENT);
	IS(start(job, MPI_COMM_WORLD, NULL, &event), CHOIR_ARGUMENT);
	IS(start(job, MPI_COMM_WORLD, &comm, NULL), CHOIR_ARGUMENT);
	OK(choir_set_executor(count_work, (void *)&works));
	pass(job, rank - 1, 0);
	if (!OK(start(job, MPI_COMM_WORLD, &comm, &event)))
		return;
	CHECK(rank + 1 == job->size || comm == NULL); /* the last rank has not called it yet */
	pass(job, -1, rank + 1);
	if (OK(choir_event_wait(event, -1))) {
		CHECK(choir_comm_size(comm) == job->size && choir_comm_rank(comm) == rank);
		world->n = job->size;
		matrix_roots(world, rank, comm, NULL);
		choir_comm_destroy(comm);
	}
	choir_event_release(event);
	OK(choir_set_executor(NULL, NULL));
	CHECK(works == 0);
}

void case_starts_refused(struct job *job)
{
	struct world *world = &job->world;
	int rank = job->rank;
	choir_comm *comm;
	choir_event *event;

	IS(start(job, MPI_COMM_WORLD, &comm, &event), CHOIR_UNSUPPORTED);
}
