/* SPDX-License-Identifier: MIT */
#include "mpi/cases.h"

#include <stddef.h>

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
