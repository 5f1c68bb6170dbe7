/* SPDX-License-Identifier: MIT */
#include "collective_mpi.h"

#include <string.h>

typedef int mpi_fn(struct collective_mpi *m, void *send, void *recv, MPI_Request *request);

#define EITHER(blocks, starts, ...) (request == NULL ? blocks(__VA_ARGS__) : starts(__VA_ARGS__, request))

static int allreduce(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Allreduce, MPI_Iallreduce, send, recv, (int)m->layout->count, m->type, m->op, m->comm);
}

/* MPI's in-place form leaves the block at the start of the buffer instead of in its place: the same work. */
static int reduce_scatter(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, send, recv, (int)m->layout->count, m->type,
	              m->op, m->comm);
}

static int reduce_scatterv(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, send, recv, m->recv_counts, m->type, m->op, m->comm);
}

/* MPI leaves what is behind a block as it is. */
static int reduce_scatter_padded(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	size_t filled = (size_t)m->recv_counts[m->rank], padding = m->layout->recv_count - filled;
	MPI_Aint first, extent;

	if (padding > 0 && MPI_Type_get_extent(m->type, &first, &extent) == MPI_SUCCESS)
		memset((char *)recv + filled * (size_t)extent, 0, padding * (size_t)extent);
	return reduce_scatterv(m, send, recv, request);
}

static int allgather(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	int count = (int)m->layout->count;

	return EITHER(MPI_Allgather, MPI_Iallgather, send, count, m->type, recv, count, m->type, m->comm);
}

static int allgatherv(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Allgatherv, MPI_Iallgatherv, send, (int)m->layout->count, m->type, recv, m->recv_counts,
	              m->recv_offs, m->type, m->comm);
}

static int allgather_padded(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Allgatherv, MPI_Iallgatherv, send, m->recv_counts[m->rank], m->type, recv, m->recv_counts,
	              m->recv_offs, m->type, m->comm);
}

static int alltoall(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	int count = (int)m->layout->count;

	return EITHER(MPI_Alltoall, MPI_Ialltoall, send, count, m->type, recv, count, m->type, m->comm);
}

static int alltoallv(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Alltoallv, MPI_Ialltoallv, send, m->send_counts, m->send_offs, m->type, recv, m->recv_counts,
	              m->recv_offs, m->type, m->comm);
}

/* MPI broadcasts in place only: out of place the root's copy is the caller's. */
static int broadcast(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	bool copies = m->rank == m->shape->root && send != MPI_IN_PLACE;
	MPI_Aint first, extent; /* of pairs more than the size */
	int rc = EITHER(MPI_Bcast, MPI_Ibcast, copies ? send : recv, (int)m->layout->count, m->type, m->shape->root,
	                m->comm);

	if (copies && MPI_Type_get_extent(m->type, &first, &extent) == MPI_SUCCESS)
		memcpy(recv, send, m->layout->count * (size_t)extent);
	return rc;
}

/* In place is the root's affair in MPI. */
static int reduce(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	if (send == MPI_IN_PLACE && m->rank != m->shape->root)
		send = recv;
	return EITHER(MPI_Reduce, MPI_Ireduce, send, recv, (int)m->layout->count, m->type, m->op, m->shape->root,
	              m->comm);
}

/* In place is the root's affair, and on the side of its own block. */
static int gather(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	int count = (int)m->layout->count;

	if (send == MPI_IN_PLACE && m->rank != m->shape->root)
		send = recv;
	return EITHER(MPI_Gather, MPI_Igather, send, count, m->type, recv, count, m->type, m->shape->root, m->comm);
}

static int gatherv(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	if (send == MPI_IN_PLACE && m->rank != m->shape->root)
		send = recv;
	return EITHER(MPI_Gatherv, MPI_Igatherv, send, (int)m->layout->count, m->type, recv, m->recv_counts,
	              m->recv_offs, m->type, m->shape->root, m->comm);
}

static void *block_to(struct collective_mpi *m, void **send, void *recv)
{
	bool in_place = *send == MPI_IN_PLACE;

	if (in_place)
		*send = recv;
	return in_place && m->rank == m->shape->root ? MPI_IN_PLACE : recv;
}

static int scatter(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	void *to = block_to(m, &send, recv);
	int count = (int)m->layout->count;

	return EITHER(MPI_Scatter, MPI_Iscatter, send, count, m->type, to, count, m->type, m->shape->root, m->comm);
}

static int scatterv(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	void *to = block_to(m, &send, recv);

	return EITHER(MPI_Scatterv, MPI_Iscatterv, send, m->send_counts, m->send_offs, m->type, to,
	              (int)m->layout->count, m->type, m->shape->root, m->comm);
}

static int scan(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Scan, MPI_Iscan, send, recv, (int)m->layout->count, m->type, m->op, m->comm);
}

static int exscan(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return EITHER(MPI_Exscan, MPI_Iexscan, send, recv, (int)m->layout->count, m->type, m->op, m->comm);
}

static int sendrecv(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	int n = m->shape->n, count = (int)m->layout->count, next = (m->rank + 1) % n, previous = (m->rank + n - 1) % n;

	if (request != NULL)
		return MPI_Isendrecv(send, count, m->type, next, 0, recv, count, m->type, previous, 0, m->comm,
		                     request);
	return MPI_Sendrecv(send, count, m->type, next, 0, recv, count, m->type, previous, 0, m->comm,
	                    MPI_STATUS_IGNORE);
}

static int barrier(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	(void)send, (void)recv;
	return EITHER(MPI_Barrier, MPI_Ibarrier, m->comm);
}

static mpi_fn *const calls[N_COLLECTIVE_ROWS] = {
	[ALLREDUCE] = allreduce,
	[REDUCE_SCATTER] = reduce_scatter,
	[REDUCE_SCATTERV] = reduce_scatterv,
	[ALLGATHER] = allgather,
	[ALLGATHERV] = allgatherv,
	[ALLTOALL] = alltoall,
	[ALLTOALLV] = alltoallv,
	[BROADCAST] = broadcast,
	[REDUCE] = reduce,
	[GATHER] = gather,
	[GATHERV] = gatherv,
	[SCATTER] = scatter,
	[SCATTERV] = scatterv,
	[SCAN] = scan,
	[EXSCAN] = exscan,
	[SEND_AND_RECV] = sendrecv,
	[SENDRECV] = sendrecv,
	[BARRIER] = barrier,
	[REDUCE_SCATTER_PADDED] = reduce_scatter_padded,
	[ALLGATHER_PADDED] = allgather_padded,
};

void collective_mpi_init(struct collective_mpi *m, const struct collective_shape *shape,
                         const struct collective_layout *layout, int rank)
{
	m->shape = shape;
	m->layout = layout;
	m->rank = rank;
	for (int r = 0; r < shape->n && (shape->what->uneven || shape->what->padded); r++) {
		m->send_counts[r] = (int)layout->send_counts[r];
		m->send_offs[r] = (int)layout->send_offs[r];
		m->recv_counts[r] = (int)layout->recv_counts[r];
		m->recv_offs[r] = (int)layout->recv_offs[r];
	}
}

int collective_mpi_call(struct collective_mpi *m, void *send, void *recv, MPI_Request *request)
{
	return calls[m->shape->what - collectives](m, send, recv, request);
}
