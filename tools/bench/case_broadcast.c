/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include <string.h>

static bool span(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .rank = job->root };
	return k == 0;
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	return choir_broadcast(job->comm, send, recv, job->count, job->dtype, job->root, call, events);
}

/* MPI broadcasts in place only: out of place the root's copy is the caller's. */
static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	bool copies = job->rank == job->root && send != MPI_IN_PLACE;
	int rc = MPI_Bcast(copies ? send : recv, (int)job->count, kit->type, job->root, kit->comm);

	if (copies)
		memcpy(recv, send, job->count * job->elem_bytes);
	return rc;
}

const struct bench_case case_broadcast = {
	.name = "broadcast",
	.about = "everyone gets what the root has",
	.rooted = true,
	.can_be_in_place = true,
	.by_elements = true,
	.n_events = 1,
	.shape = shape_whole,
	.span = span,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor_one,
};
