/* SPDX-License-Identifier: MIT */
#include "cases.h"

static void shape(struct job *job, size_t bytes)
{
	(void)bytes;
	job->bytes = job->count = job->send_count = job->recv_count = 0;
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	(void)send;
	(void)recv;
	return choir_barrier(job->comm, call, events);
}

static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	(void)job;
	(void)send;
	(void)recv;
	return MPI_Barrier(kit->comm);
}

const struct bench_case case_barrier = {
	.name = "barrier",
	.about = "no data",
	.n_events = 1,
	.shape = shape,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor_one,
};
