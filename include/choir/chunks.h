/* SPDX-License-Identifier: MIT */
/* Collectives over all ranks of a comm that lives in one process (choir_comm_create_local), made by one call: each rank
 * is a device, and a tensor is spread over them in chunks.  docs/chunks.md explains them.
 *
 * Of every call:
 * n_local and comms: the handles of all ranks of one comm, in any order; arrays of n_local go by the same order.
 * call (may be NULL): given to the call of every rank, its deps, options, deadline and factor.
 * event_p: NULL: the call blocks until all ranks are done.  Else one event of all ranks, which completes with the last
 * of them; the first failure is its outcome.
 * Arrays are copied before the call returns.  Any thread, but not inside a callback (WOULD_DEADLOCK) or a group.
 * ARGUMENT: nothing was sent and nothing changed on any rank.  Else errors as in <choir/collective.h>. */
#ifndef CHOIR_CHUNKS_H
#define CHOIR_CHUNKS_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk of a tensor, and where it is.  index: its place in the tensor, from 0; the rank that holds it may be any.
 * offset, count: its elements in the tensor; a chunk may be empty: its offset and buffer are not looked at then. */
typedef struct choir_chunk {
	size_t index, offset, count;
	choir_buffer buffer;
} choir_chunk;

/* A tensor in n chunks, chunks[i] held by comms[i].  In the order of their indexes the chunks follow one another from
 * element 0 to element count, so the tensor can be put together again; they may be of any lengths.  The array and the
 * memory of the chunks are the caller's. */
typedef struct choir_chunks {
	size_t struct_size; /* sizeof(choir_chunks) */
	size_t count;       /* elements of the tensor */
	choir_dtype dtype;
	size_t n;
	choir_chunk *chunks;
} choir_chunks;
#define CHOIR_CHUNKS_INIT                                                                                              \
	{                                                                                                              \
		sizeof(choir_chunks), 0, CHOIR_F32, 0, NULL                                                            \
	}

/* choir_chunks_cut: sets index, offset and count of the n chunks: chunk i has index i and ceil(count / n) elements, the
 * last ones fewer or none.  Buffers stay as they are.  ARGUMENT; never blocks, any thread. */
CHOIR_API choir_status choir_chunks_cut(choir_chunks *chunks);

/* choir_chunks_reduce_scatter: sends[i] is comms[i]'s tensor of chunks->count elements; each rank gets its chunk of
 * their reduction.  In place: a chunk's buffer is its range of sends[i]. */
CHOIR_API choir_status choir_chunks_reduce_scatter(int n_local, choir_comm *const *comms, const choir_buffer *sends,
                                                   const choir_chunks *chunks, choir_op op, const choir_call *call,
                                                   choir_event **event_p);

/* choir_chunks_allgather: recvs[i] of every rank gets the whole tensor, chunks->count elements in their order.  In
 * place: a chunk's buffer is its range of recvs[i]. */
CHOIR_API choir_status choir_chunks_allgather(int n_local, choir_comm *const *comms, const choir_chunks *chunks,
                                              const choir_buffer *recvs, const choir_call *call, choir_event **event_p);

/* choir_chunks_concat: recv, on the device of comms[holder], gets the whole tensor.  In place: the buffer of the
 * holder's chunk is its range of recv. */
CHOIR_API choir_status choir_chunks_concat(int n_local, choir_comm *const *comms, const choir_chunks *chunks,
                                           int holder, choir_buffer recv, const choir_call *call,
                                           choir_event **event_p);

/* choir_allreduce_local: an allreduce of count elements: recvs[i] = op over all ranks of sends[i].  In place where both
 * are the same range. */
CHOIR_API choir_status choir_allreduce_local(int n_local, choir_comm *const *comms, const choir_buffer *sends,
                                             const choir_buffer *recvs, size_t count, choir_dtype dtype, choir_op op,
                                             const choir_call *call, choir_event **event_p);

#ifdef __cplusplus
}
#endif

#endif
