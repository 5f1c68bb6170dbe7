/* SPDX-License-Identifier: MIT */
/* Uneven on purpose: rank r's share of the whole is proportional to r + 1, and the last takes what is left over. */
#include "cases.h"

static size_t before(const struct job *job, int rank)
{
	size_t sum = 0;

	for (int r = 0; r < rank; r++)
		sum += job->counts[r];
	return sum;
}

static void shape(struct job *job, size_t bytes)
{
	size_t n = (size_t)job->n, total = bytes / job->elem_bytes, parts = n * (n + 1) / 2;

	total = total > n ? total : n;
	for (int r = 0; r < job->n - 1; r++)
		job->counts[r] = total / parts * (size_t)(r + 1);
	job->counts[n - 1] = total - before(job, job->n - 1);
	job->count = job->send_count = job->counts[job->rank];
	job->bytes = total * job->elem_bytes;
	job->recv_count = total;
	job->send_at = before(job, job->rank);
	job->recv_at = 0;
}

static bool span(const struct job *job, int k, struct span *out)
{
	if (k >= job->n)
		return false;
	*out = (struct span){ .at = before(job, k), .count = job->counts[k], .rank = k };
	return true;
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	return choir_allgatherv(job->comm, send, job->count, recv, job->counts, NULL, job->dtype, call, events);
}

static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	int counts[sizeof job->counts / sizeof *job->counts], at[sizeof job->counts / sizeof *job->counts], sum = 0;

	for (int r = 0; r < job->n; r++) {
		counts[r] = (int)job->counts[r];
		at[r] = sum;
		sum += counts[r];
	}
	return MPI_Allgatherv(send, (int)job->count, kit->type, recv, counts, at, kit->type, kit->comm);
}

const struct bench_case case_allgatherv = {
	.name = "allgatherv",
	.about = "the same with uneven blocks",
	.can_be_in_place = true,
	.n_events = 1,
	.shape = shape,
	.span = span,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor_share,
};
