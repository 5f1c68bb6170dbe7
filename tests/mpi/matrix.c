/* SPDX-License-Identifier: MIT */
/* The table of ring 3 over processes, and over two ranks a process. */
#include "mpi/cases.h"
#include "quick.h"
#include "world/flight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void whole_table(struct world *world, choir_comm *comm, bool quick)
{
	int rank = choir_comm_rank(comm);

	int part = choir_comm_nodes(comm);

	/* all of them in three layouts of up to 3 ranks */
	matrix_types(world, rank, comm, choir_comm_size(comm) > 3 ? &part : NULL);
	matrix_roots(world, rank, comm, NULL);
	matrix_sizes(world, rank, comm, quick ? world : NULL);
}

void case_matrix(struct job *job)
{
	choir_comm *comm;

	if (!job_comms(job, 1, "matrix", &comm))
		return;
	/* Large sizes on at most 4 ranks of at most 2 nodes: what more of either changes is seen with small ones. */
	whole_table(&job->world, comm, job->size > 4 || choir_comm_nodes(comm) > 2 || quick_wanted());
	choir_comm_destroy(comm);
}

/* Without a transport of MPI's, ranks of one machine need no more than this. */
void case_funneled(struct job *job)
{
	choir_comm *comm;

	if (!job_comms(job, 1, "funneled", &comm))
		return;
	matrix_types(&job->world, choir_comm_rank(comm), comm, NULL);
	choir_comm_destroy(comm);
}

/* Between machines MPI_THREAD_FUNNELED is too little: both levels are named, on every rank. */
void case_refused(struct job *job)
{
	choir_comm *comm = NULL;
	struct world *world = &job->world;
	int rank = job->rank;

	IS(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &world->device, NULL, &comm), CHOIR_UNSUPPORTED);
	CHECK(strstr(choir_last_error(), "MPI_THREAD_FUNNELED") != NULL &&
	      strstr(choir_last_error(), "MPI_THREAD_SERIALIZED") != NULL);
	CHECK(comm == NULL);
}

struct driver {
	pthread_t thread;
	struct world *world;
	choir_comm *comm;
};

static void *drive(void *arg)
{
	struct driver *driver = arg;
	int part = choir_comm_nodes(driver->comm);

	matrix_types(driver->world, choir_comm_rank(driver->comm), driver->comm, &part);
	matrix_roots(driver->world, choir_comm_rank(driver->comm), driver->comm, NULL);
	return NULL;
}

/* One thread, its ranks in groups: with events, and without (then the end of the group blocks). */
static void in_groups(struct job *job, int n_local, choir_comm **comms)
{
	struct dense_flight flights[JOB_MOST_LOCAL];
	struct world *world = &job->world;
	int rank = choir_comm_rank(comms[0]);

	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		struct dense_call c = { .what = &collectives[what],
			                .dtype = CHOIR_F32,
			                .op = CHOIR_OP_SUM,
			                .n = choir_comm_size(comms[0]),
			                .count = 5000,
			                .device = what % 2 };

		if (c.what->waits)
			continue;
		OK(choir_group_begin());
		for (int i = 0; i < n_local; i++) {
			flight_make(&flights[i], world, choir_comm_rank(comms[i]), &c);
			flight_start(&flights[i], world, comms[i], NULL);
		}
		OK(choir_group_end());
		for (int i = 0; i < n_local; i++) {
			flight_land(&flights[i], world);
			flight_free(&flights[i]);
		}
		OK(choir_group_begin());
		for (int i = 0; i < n_local; i++)
			OK(choir_barrier(comms[i], NULL, NULL));
		OK(choir_group_end());
	}
}

void case_locals(struct job *job)
{
	int n_local = 2 + (job->rank == 1); /* not the same number everywhere */
	choir_comm *comms[JOB_MOST_LOCAL];
	struct driver drivers[JOB_MOST_LOCAL];
	struct world *world = &job->world;
	int rank = job->rank;

	if (!job_comms(job, n_local, "locals", comms))
		return;
	CHECK(choir_comm_size(comms[0]) == 2 * job->size + (job->size > 1));
	CHECK(choir_comm_rank(comms[0]) == 2 * job->rank + (job->rank > 1));
	in_groups(job, n_local, comms);
	for (int i = 0; i < n_local; i++) {
		drivers[i] = (struct driver){ .world = world, .comm = comms[i] };
		CHECK(pthread_create(&drivers[i].thread, NULL, drive, &drivers[i]) == 0);
	}
	for (int i = 0; i < n_local; i++)
		pthread_join(drivers[i].thread, NULL);
	for (int i = 0; i < n_local; i++)
		choir_comm_destroy(comms[(i + job->rank) % n_local]);
}
