/* SPDX-License-Identifier: MIT */
/* The dense collectives whose counts differ from rank to rank and are known to all: their hash is compared with the call. */
#include "api/dense.h"
#include "api/vector.h"

choir_status choir_reduce_scatterv(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts, choir_dtype dtype,
                                   choir_op op, const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_reduce_scatterv", .collective = COLLECTIVE_REDUCE_SCATTERV, .comm = comm, .send = send, .recv = recv,
		           .dtype = dtype, .op = op, .reduces = true, .counts = { recv_counts } };
	struct repeat_call repeat;
	struct vector blocks;
	choir_status st;

	if (dense_again(&d, call, event_p, &repeat, &st))
		return st;
	TRY(dense_names(&d));
	TRY(vector_read(d.call, "recv_counts", comm->n, choir_dtype_bytes(dtype), recv_counts, NULL, &blocks));
	d.block_bytes = blocks.bytes;
	d.block_off = blocks.off;
	d.hash = blocks.hash;
	d.send_bytes = blocks.total;
	d.recv_bytes = blocks.bytes[comm->rank];
	d.count = blocks.total / choir_dtype_bytes(dtype);
	st = dense_first(&d, call, event_p);
	vector_fini(&blocks);
	return st;
}

choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv, const size_t *recv_counts,
                              const size_t *displacements, choir_dtype dtype, const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_allgatherv", .collective = COLLECTIVE_ALLGATHERV, .comm = comm, .send = send, .recv = recv,
		           .count = send_count, .dtype = dtype, .counts = { recv_counts, displacements } };
	struct repeat_call repeat;
	struct vector blocks;
	choir_status st;

	if (dense_again(&d, call, event_p, &repeat, &st))
		return st;
	TRY(dense_names(&d));
	TRY(vector_read(d.call, "recv_counts", comm->n, choir_dtype_bytes(dtype), recv_counts, displacements, &blocks));
	d.block_bytes = blocks.bytes;
	d.block_off = blocks.off;
	d.hash = blocks.hash;
	d.send_bytes = blocks.bytes[comm->rank];
	d.recv_bytes = blocks.extent;
	d.count = blocks.total / choir_dtype_bytes(dtype);
	st = vector_apart(d.call, comm->n, &blocks);
	if (st == CHOIR_SUCCESS && send_count != recv_counts[comm->rank])
		st = error_set(CHOIR_ARGUMENT, "choir_allgatherv: rank %d sends %zu elements, but recv_counts says %zu", comm->rank, send_count,
		               recv_counts[comm->rank]);
	if (st == CHOIR_SUCCESS)
		st = dense_first(&d, call, event_p);
	vector_fini(&blocks);
	return st;
}
