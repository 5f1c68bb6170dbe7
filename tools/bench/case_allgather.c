/* SPDX-License-Identifier: MIT */
#include "cases.h"

static void shape(struct job *job, size_t bytes)
{
	size_t n = (size_t)job->n, block = bytes / job->elem_bytes / n;

	job->count = block > 0 ? block : 1;
	job->bytes = job->count * n * job->elem_bytes;
	job->send_count = job->count;
	job->recv_count = job->count * n;
	job->send_at = (size_t)job->rank * job->count;
	job->recv_at = 0;
}

static bool span(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .at = (size_t)k * job->count, .count = job->count, .rank = k };
	return k < job->n;
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	return choir_allgather(job->comm, send, recv, job->count, job->dtype, call, events);
}

static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	return MPI_Allgather(send, (int)job->count, kit->type, recv, (int)job->count, kit->type, kit->comm);
}

const struct bench_case case_allgather = {
	.name = "allgather",
	.about = "everyone gets everyone's block",
	.can_be_in_place = true,
	.n_events = 1,
	.shape = shape,
	.span = span,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor_share,
};
