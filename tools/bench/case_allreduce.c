/* SPDX-License-Identifier: MIT */
#include "cases.h"

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	return choir_allreduce(job->comm, send, recv, job->count, job->dtype, job->op, call, events);
}

static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	return MPI_Allreduce(send, recv, (int)job->count, kit->type, kit->op, kit->comm);
}

static double bus_factor(int n)
{
	return 2 * (n - 1.0) / n;
}

const struct bench_case case_allreduce = {
	.name = "allreduce",
	.about = "everyone gets the reduction",
	.reduces = true,
	.can_be_in_place = true,
	.by_elements = true,
	.n_events = 1,
	.shape = shape_whole,
	.span = span_reduced_whole,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor,
};
