/* SPDX-License-Identifier: MIT */
/* The dense collectives of equal counts: what each touches; once to be started, once to be kept. */
#include "api/request.h"

static struct dense allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op)
{
	return (struct dense){ .call = "choir_allreduce", .collective = COLLECTIVE_ALLREDUCE, .comm = comm, .send = send, .recv = recv,
		               .count = count, .send_blocks = 1, .recv_blocks = 1, .dtype = dtype, .op = op, .reduces = true, .inner_block = -1 };
}

choir_status choir_allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op,
                             const choir_call *call, choir_event **event_p)
{
	struct dense d = allreduce(comm, send, recv, count, dtype, op);

	return dense_start(&d, call, event_p);
}

choir_status choir_allreduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op,
                                  const choir_call *call, choir_request **request_p)
{
	struct dense d = allreduce(comm, send, recv, count, dtype, op);

	return request_create(&d, call, request_p);
}

static struct dense reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype, choir_op op)
{
	return (struct dense){ .call = "choir_reduce_scatter", .collective = COLLECTIVE_REDUCE_SCATTER, .comm = comm, .send = send, .recv = recv,
		               .count = recv_count, .send_blocks = (uint64_t)choir_comm_size(comm), .recv_blocks = 1, .dtype = dtype, .op = op,
		               .reduces = true, .inner_block = choir_comm_rank(comm) };
}

choir_status choir_reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype, choir_op op,
                                  const choir_call *call, choir_event **event_p)
{
	struct dense d = reduce_scatter(comm, send, recv, recv_count, dtype, op);

	return dense_start(&d, call, event_p);
}

choir_status choir_reduce_scatter_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype,
                                       choir_op op, const choir_call *call, choir_request **request_p)
{
	struct dense d = reduce_scatter(comm, send, recv, recv_count, dtype, op);

	return request_create(&d, call, request_p);
}

static struct dense allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype)
{
	return (struct dense){ .call = "choir_allgather", .collective = COLLECTIVE_ALLGATHER, .comm = comm, .send = send, .recv = recv,
		               .count = send_count, .send_blocks = 1, .recv_blocks = (uint64_t)choir_comm_size(comm), .dtype = dtype,
		               .inner_block = choir_comm_rank(comm) };
}

choir_status choir_allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype,
                             const choir_call *call, choir_event **event_p)
{
	struct dense d = allgather(comm, send, recv, send_count, dtype);

	return dense_start(&d, call, event_p);
}

choir_status choir_allgather_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype,
                                  const choir_call *call, choir_request **request_p)
{
	struct dense d = allgather(comm, send, recv, send_count, dtype);

	return request_create(&d, call, request_p);
}

static struct dense alltoall(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype)
{
	uint64_t n = (uint64_t)choir_comm_size(comm);

	return (struct dense){ .call = "choir_alltoall", .collective = COLLECTIVE_ALLTOALL, .comm = comm, .send = send, .recv = recv, .count = count,
		               .send_blocks = n, .recv_blocks = n, .dtype = dtype, .inner_block = -1 };
}

choir_status choir_alltoall(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, const choir_call *call,
                            choir_event **event_p)
{
	struct dense d = alltoall(comm, send, recv, count, dtype);

	return dense_start(&d, call, event_p);
}

choir_status choir_alltoall_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                                 const choir_call *call, choir_request **request_p)
{
	struct dense d = alltoall(comm, send, recv, count, dtype);

	return request_create(&d, call, request_p);
}

static struct dense broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root)
{
	return (struct dense){ .call = "choir_broadcast", .collective = COLLECTIVE_BROADCAST, .comm = comm, .send = send, .recv = recv,
		               .count = count, .send_blocks = choir_comm_rank(comm) == root, .recv_blocks = 1, .dtype = dtype, .root = root,
		               .rooted = true, .inner_block = -1 };
}

choir_status choir_broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root,
                             const choir_call *call, choir_event **event_p)
{
	struct dense d = broadcast(comm, send, recv, count, dtype, root);

	return dense_start(&d, call, event_p);
}

choir_status choir_broadcast_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root,
                                  const choir_call *call, choir_request **request_p)
{
	struct dense d = broadcast(comm, send, recv, count, dtype, root);

	return request_create(&d, call, request_p);
}

static struct dense reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op, int root)
{
	return (struct dense){ .call = "choir_reduce", .collective = COLLECTIVE_REDUCE, .comm = comm, .send = send, .recv = recv, .count = count,
		               .send_blocks = 1, .recv_blocks = choir_comm_rank(comm) == root, .dtype = dtype, .op = op, .reduces = true,
		               .root = root, .rooted = true, .inner_block = -1 };
}

choir_status choir_reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op, int root,
                          const choir_call *call, choir_event **event_p)
{
	struct dense d = reduce(comm, send, recv, count, dtype, op, root);

	return dense_start(&d, call, event_p);
}

choir_status choir_reduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op, int root,
                               const choir_call *call, choir_request **request_p)
{
	struct dense d = reduce(comm, send, recv, count, dtype, op, root);

	return request_create(&d, call, request_p);
}

static struct dense barrier(choir_comm *comm)
{
	return (struct dense){ .call = "choir_barrier", .collective = COLLECTIVE_BARRIER, .comm = comm, .dtype = CHOIR_U8, .inner_block = -1 };
}

choir_status choir_barrier(choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct dense d = barrier(comm);

	return dense_start(&d, call, event_p);
}

choir_status choir_barrier_init(choir_comm *comm, const choir_call *call, choir_request **request_p)
{
	struct dense d = barrier(comm);

	return request_create(&d, call, request_p);
}
