/* SPDX-License-Identifier: MIT */
/* The dense collectives of equal counts, choir_NAME and choir_NAME_init of each: what a call touches, said once. */
#include "api/request.h"

#define PARAMS(...) __VA_ARGS__
#define SAME(send_, recv_, count_, dtype_, op_, root_) .send = send_, .recv = recv_, .count = count_, .dtype = dtype_, .op = op_, .root = root_

/* choir_NAME starts the call that the fields describe, choir_NAME_init keeps it.  By what is in SAME a call is known as the one before once more: then nothing else is
 * written down; and every field of it is named, so that nothing is cleared first. */
#define COLLECTIVE(verb, number, params, same, ...)                                                                                        \
	choir_status choir_##verb(params, const choir_call *call, choir_event **event_p)                                                   \
	{                                                                                                                                  \
		struct repeat_call repeat = { .kind = EXPRESS_COLLECTIVE, .name = "choir_" #verb, .lists = { NULL, NULL, NULL, NULL },     \
			                      .collective = number, .deadline_ms = call != NULL ? call->deadline_ms : 0,                   \
			                      .disagree_ctx = NULL, same };                                                                \
		choir_status st;                                                                                                           \
		bool may;                                                                                                                  \
                                                                                                                                           \
		if (dense_repeat(comm, &repeat, 1, call, event_p, &may, &st))                                                              \
			return st;                                                                                                         \
		return dense_first(&(struct dense){ .call = "choir_" #verb, .collective = number, .comm = comm,                            \
			                            .repeat = may ? &repeat : NULL, same, __VA_ARGS__ },                                   \
		                   call, event_p);                                                                                         \
	}                                                                                                                                  \
                                                                                                                                           \
	choir_status choir_##verb##_init(params, const choir_call *call, choir_request **request_p)                                        \
	{                                                                                                                                  \
		return request_create(&(struct dense){ .call = "choir_" #verb, .collective = number, .comm = comm, same, __VA_ARGS__ },    \
			              call, request_p);                                                                                    \
	}

COLLECTIVE(allreduce, COLLECTIVE_ALLREDUCE, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op),
           SAME(send, recv, count, dtype, op, 0),
           .send_blocks = 1, .recv_blocks = 1, .reduces = true, .inner_block = -1)

COLLECTIVE(reduce_scatter, COLLECTIVE_REDUCE_SCATTER, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype, choir_op op),
           SAME(send, recv, recv_count, dtype, op, 0),
           .send_blocks = (uint64_t)choir_comm_size(comm), .recv_blocks = 1, .reduces = true, .inner_block = choir_comm_rank(comm))

COLLECTIVE(allgather, COLLECTIVE_ALLGATHER, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype),
           SAME(send, recv, send_count, dtype, 0, 0),
           .send_blocks = 1, .recv_blocks = (uint64_t)choir_comm_size(comm), .inner_block = choir_comm_rank(comm))

COLLECTIVE(alltoall, COLLECTIVE_ALLTOALL, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype),
           SAME(send, recv, count, dtype, 0, 0),
           .send_blocks = (uint64_t)choir_comm_size(comm), .recv_blocks = (uint64_t)choir_comm_size(comm), .inner_block = -1)

COLLECTIVE(broadcast, COLLECTIVE_BROADCAST, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root),
           SAME(send, recv, count, dtype, 0, root),
           .send_blocks = choir_comm_rank(comm) == root, .recv_blocks = 1, .rooted = true, .inner_block = -1)

COLLECTIVE(reduce, COLLECTIVE_REDUCE, PARAMS(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op, int root),
           SAME(send, recv, count, dtype, op, root),
           .send_blocks = 1, .recv_blocks = choir_comm_rank(comm) == root, .reduces = true, .rooted = true, .inner_block = -1)

COLLECTIVE(barrier, COLLECTIVE_BARRIER, PARAMS(choir_comm *comm),
           SAME(choir_none(), choir_none(), 0, CHOIR_U8, 0, 0),
           .inner_block = -1)
