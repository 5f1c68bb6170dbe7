/* SPDX-License-Identifier: MIT */
/* The collectives as MPI calls them.  Counts fit an int: mpi_kit_open sees to it. */
#include "case_columns.h"

#include <string.h>

/* Counts and displacements, one block after another. */
struct blocks {
	int count[JOB_MAX_RANKS], at[JOB_MAX_RANKS];
};

static void lay_out(const size_t *counts, int n, struct blocks *blocks)
{
	int sum = 0;

	for (int r = 0; r < n; r++) {
		blocks->count[r] = (int)counts[r];
		blocks->at[r] = sum;
		sum += blocks->count[r];
	}
}

CASE_MPI(allreduce)
{
	return MPI_Allreduce(send, recv, (int)job->count, kit->type, kit->op, kit->comm);
}

/* MPI's in-place form leaves the block at the start of the buffer instead of in its place: the same work. */
CASE_MPI(reduce_scatter)
{
	return MPI_Reduce_scatter_block(send, recv, (int)job->count, kit->type, kit->op, kit->comm);
}

CASE_MPI(reduce_scatterv)
{
	struct blocks to;

	lay_out(job->recv_counts, job->n, &to);
	return MPI_Reduce_scatter(send, recv, to.count, kit->type, kit->op, kit->comm);
}

CASE_MPI(allgather)
{
	return MPI_Allgather(send, (int)job->count, kit->type, recv, (int)job->count, kit->type, kit->comm);
}

CASE_MPI(allgatherv)
{
	struct blocks to;

	lay_out(job->recv_counts, job->n, &to);
	return MPI_Allgatherv(send, (int)job->count, kit->type, recv, to.count, to.at, kit->type, kit->comm);
}

CASE_MPI(alltoall)
{
	return MPI_Alltoall(send, (int)job->count, kit->type, recv, (int)job->count, kit->type, kit->comm);
}

CASE_MPI(alltoallv)
{
	struct blocks from, to;

	lay_out(job->send_counts, job->n, &from);
	lay_out(job->recv_counts, job->n, &to);
	return MPI_Alltoallv(send, from.count, from.at, kit->type, recv, to.count, to.at, kit->type, kit->comm);
}

/* MPI broadcasts in place only: out of place the root's copy is the caller's. */
CASE_MPI(broadcast)
{
	bool copies = job->rank == job->root && send != MPI_IN_PLACE;
	int rc = MPI_Bcast(copies ? send : recv, (int)job->count, kit->type, job->root, kit->comm);

	if (copies)
		memcpy(recv, send, job->count * job->elem_bytes);
	return rc;
}

CASE_MPI(reduce)
{
	/* In place is the root's affair in MPI. */
	if (send == MPI_IN_PLACE && job->rank != job->root)
		send = recv;
	return MPI_Reduce(send, recv, (int)job->count, kit->type, kit->op, job->root, kit->comm);
}

CASE_MPI(barrier)
{
	(void)job;
	(void)send;
	(void)recv;
	return MPI_Barrier(kit->comm);
}

CASE_MPI(sendrecv)
{
	int count = (int)job->count;

	return MPI_Sendrecv(send, count, kit->type, next_rank(job), 0, recv, count, kit->type, previous_rank(job), 0,
	                    kit->comm, MPI_STATUS_IGNORE);
}
