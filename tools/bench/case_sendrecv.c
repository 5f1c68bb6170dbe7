/* SPDX-License-Identifier: MIT */
/* Everyone sends to the next rank and receives from the one before, as nccl-tests' sendrecv. */
#include "cases.h"

static int next(const struct job *job)
{
	return (job->rank + 1) % job->n;
}

static int previous(const struct job *job)
{
	return (job->rank + job->n - 1) % job->n;
}

static bool span(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .rank = previous(job) };
	return k == 0;
}

static choir_status run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events)
{
	choir_status first, second, st = choir_group_begin();

	if (st != CHOIR_SUCCESS)
		return st;
	first = choir_send(job->comm, send, job->count, job->dtype, next(job), call, events);
	second = first != CHOIR_SUCCESS ? first :
		 choir_recv(job->comm, recv, job->count, job->dtype, previous(job), call, events != NULL ? events + 1 : NULL);
	st = choir_group_end();
	return second != CHOIR_SUCCESS ? second : st;
}

static int mpi(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	int count = (int)job->count;

	return MPI_Sendrecv(send, count, kit->type, next(job), 0, recv, count, kit->type, previous(job), 0, kit->comm, MPI_STATUS_IGNORE);
}

const struct bench_case case_sendrecv = {
	.name = "sendrecv",
	.about = "to the next rank, from the one before",
	.by_elements = true,
	.n_events = CASE_MAX_EVENTS,
	.shape = shape_whole,
	.span = span,
	.run = run,
	.mpi = mpi,
	.bus_factor = bus_factor_one,
};
