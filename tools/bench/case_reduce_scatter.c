/* SPDX-License-Identifier: MIT */
#include "cases.h"

static void shape(struct job *job, size_t bytes)
{
	size_t n = (size_t)job->n, block = bytes / job->elem_bytes / n;

	job->count = block > 0 ? block : 1;
	job->bytes = job->count * n * job->elem_bytes;
	job->send_count = job->count * n;
	job->recv_count = job->count;
	job->send_at = 0;
	job->recv_at = (size_t)job->rank * job->count;
}

static bool span(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .from = (size_t)job->rank * job->count, .rank = SPAN_REDUCED };
	return k == 0;
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	return choir_reduce_scatter(job->comm, send, recv, job->count, job->dtype, job->op, call, events);
}

/* MPI's in-place form leaves the block at the start of the buffer instead of in its place: the same work. */
static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	return MPI_Reduce_scatter_block(send, recv, (int)job->count, kit->type, kit->op, kit->comm);
}

const struct bench_case case_reduce_scatter = {
	.name = "reduce_scatter",
	.about = "everyone gets a block of the reduction",
	.reduces = true,
	.can_be_in_place = true,
	.n_events = 1,
	.shape = shape,
	.span = span,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor_share,
};
