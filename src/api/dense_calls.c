/* SPDX-License-Identifier: MIT */
/* The dense collectives of equal counts, choir_NAME and choir_NAME_init of each: what a call touches, said once. */
#include "api/request.h"

#define PARAMS(...) __VA_ARGS__

/* choir_NAME starts the call that the fields describe, choir_NAME_init keeps it. */
#define COLLECTIVE(name, params, ...)                                                                                                      \
	choir_status choir_##name(params, const choir_call *call, choir_event **event_p)                                                   \
	{                                                                                                                                  \
		struct dense d = { .call = "choir_" #name, .comm = comm, __VA_ARGS__ };                                                    \
                                                                                                                                           \
		return dense_start(&d, call, event_p);                                                                                     \
	}                                                                                                                                  \
                                                                                                                                           \
	choir_status choir_##name##_init(params, const choir_call *call, choir_request **request_p)                                        \
	{                                                                                                                                  \
		struct dense d = { .call = "choir_" #name, .comm = comm, __VA_ARGS__ };                                                    \
                                                                                                                                           \
		return request_create(&d, call, request_p);                                                                                \
	}

COLLECTIVE(allreduce, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op),
           .collective = COLLECTIVE_ALLREDUCE, .send = send, .recv = recv, .count = count, .send_blocks = 1, .recv_blocks = 1,
           .dtype = dtype, .op = op, .reduces = true, .inner_block = -1)

COLLECTIVE(reduce_scatter, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype, choir_op op),
           .collective = COLLECTIVE_REDUCE_SCATTER, .send = send, .recv = recv, .count = recv_count,
           .send_blocks = (uint64_t)choir_comm_size(comm), .recv_blocks = 1, .dtype = dtype, .op = op, .reduces = true,
           .inner_block = choir_comm_rank(comm))

COLLECTIVE(allgather, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype),
           .collective = COLLECTIVE_ALLGATHER, .send = send, .recv = recv, .count = send_count, .send_blocks = 1,
           .recv_blocks = (uint64_t)choir_comm_size(comm), .dtype = dtype, .inner_block = choir_comm_rank(comm))

COLLECTIVE(alltoall, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype),
           .collective = COLLECTIVE_ALLTOALL, .send = send, .recv = recv, .count = count, .send_blocks = (uint64_t)choir_comm_size(comm),
           .recv_blocks = (uint64_t)choir_comm_size(comm), .dtype = dtype, .inner_block = -1)

COLLECTIVE(broadcast, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root),
           .collective = COLLECTIVE_BROADCAST, .send = send, .recv = recv, .count = count, .send_blocks = choir_comm_rank(comm) == root,
           .recv_blocks = 1, .dtype = dtype, .root = root, .rooted = true, .inner_block = -1)

COLLECTIVE(reduce, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op, int root),
           .collective = COLLECTIVE_REDUCE, .send = send, .recv = recv, .count = count, .send_blocks = 1,
           .recv_blocks = choir_comm_rank(comm) == root, .dtype = dtype, .op = op, .reduces = true, .root = root, .rooted = true,
           .inner_block = -1)

COLLECTIVE(barrier, PARAMS(choir_comm *comm), .collective = COLLECTIVE_BARRIER, .dtype = CHOIR_U8, .inner_block = -1)
