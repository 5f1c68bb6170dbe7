/* SPDX-License-Identifier: MIT */
#include "cases.h"

static bool span(const struct job *job, int k, struct span *out)
{
	return job->rank == job->root && span_reduced_whole(job, k, out);
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	return choir_reduce(job->comm, send, recv, job->count, job->dtype, job->op, job->root, call, events);
}

static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	/* In place is the root's affair in MPI. */
	if (send == MPI_IN_PLACE && job->rank != job->root)
		send = recv;
	return MPI_Reduce(send, recv, (int)job->count, kit->type, kit->op, job->root, kit->comm);
}

const struct bench_case case_reduce = {
	.name = "reduce",
	.about = "the root gets the reduction",
	.reduces = true,
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
