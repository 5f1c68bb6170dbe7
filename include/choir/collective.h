/* SPDX-License-Identifier: MIT */
/* The dense collectives.
 *
 * Counts are elements.  All ranks of a comm make the same calls in the same order (send and recv: the two ranks
 * concerned); a call that differs fails the comm on every rank, naming both.  In place = the same range given twice;
 * any other overlap is an error.  call NULL = no deps.  event_p NULL: block and return the outcome; else the call
 * returns at once, *event_p gets a reference, and the *contents* of the buffers belong to the collective until the
 * event completes.  Any thread.
 * Errors of every call: ARGUMENT (nothing was sent, nothing changed), the comm's sticky failure, and as outcome
 * MISMATCH, TIMEOUT, PEER_DEAD, OPENCL, TRANSPORT, NO_MEMORY, ABORTED, UNSUPPORTED. */
#ifndef CHOIR_COLLECTIVE_H
#define CHOIR_COLLECTIVE_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* choir_allreduce: recv[i] = op over all ranks of send[i], i < count. */
CHOIR_API choir_status choir_allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                       choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p);

/* choir_allreduce_multi: an allreduce of each of n tensors, whatever their data types, under one event: many small ones
 * cost little more than one of their length.  Each is in place or not; no two tensors may overlap.  n_tensors, counts
 * and data types agree on all ranks, which is checked; op (and the rank's factor) is that of all.  The list is copied
 * before the call returns.  Where a sum is not exact, an element's last bits may be others than those of a call for its
 * tensor alone; they are the same on all ranks, and again for the same list. */
typedef struct choir_tensor {
	choir_buffer send, recv;
	size_t count; /* may be 0 */
	choir_dtype dtype;
} choir_tensor;
CHOIR_API choir_status choir_allreduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                             choir_op op, const choir_call *call, choir_event **event_p);

/* choir_reduce_scatter: send holds size * recv_count elements; rank r gets block r of the reduction.  In place: recv is
 * block r of send, or the very same start. */
CHOIR_API choir_status choir_reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                            choir_dtype dtype, choir_op op, const choir_call *call,
                                            choir_event **event_p);

/* choir_reduce_scatterv: rank r gets its recv_counts[r] elements of the reduction; send holds the blocks of all ranks
 * one after another.  The counts agree on all ranks, which is checked.  In place: recv is my block of send. */
CHOIR_API choir_status choir_reduce_scatterv(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                             const size_t *recv_counts, choir_dtype dtype, choir_op op,
                                             const choir_call *call, choir_event **event_p);

/* choir_allgather: recv holds size * send_count elements; block r comes from rank r.  In place: send is block r of
 * recv. */
CHOIR_API choir_status choir_allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                       choir_dtype dtype, const choir_call *call, choir_event **event_p);

/* choir_allgatherv: rank r contributes recv_counts[r] elements (send_count must equal recv_counts[me]), placed at
 * displacements[r] elements; displacements NULL = one after another.  The counts agree on all ranks; displacements may
 * differ and their blocks must not overlap. */
CHOIR_API choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                        const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                        const choir_call *call, choir_event **event_p);

/* choir_alltoall: send and recv hold size * count elements; block p of send goes to rank p, block p of recv comes from
 * rank p.  In place: the same range twice; each block is then replaced by its counterpart. */
CHOIR_API choir_status choir_alltoall(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                      choir_dtype dtype, const choir_call *call, choir_event **event_p);

/* choir_alltoallv: send_counts[p] elements from send_displacements[p] of send go to rank p; recv_counts[p] elements
 * from rank p are placed at recv_displacements[p] of recv; displacements NULL = one after another.  Each rank gives its
 * own counts: they are gathered first, and where a receiver expects another number than its sender has, the call ends
 * with MISMATCH on every rank and nothing is written.  Blocks of recv must not overlap each other nor send; those of
 * send may.  The arrays are copied before the call returns. */
CHOIR_API choir_status choir_alltoallv(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                       const size_t *send_displacements, choir_buffer recv, const size_t *recv_counts,
                                       const size_t *recv_displacements, choir_dtype dtype, const choir_call *call,
                                       choir_event **event_p);

/* choir_broadcast: recv on every rank = send of root.  send is looked at on the root only; recv may be choir_none()
 * there. */
CHOIR_API choir_status choir_broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                       choir_dtype dtype, int root, const choir_call *call, choir_event **event_p);

/* choir_reduce: recv on root = op over all ranks of send.  recv is looked at on the root only. */
CHOIR_API choir_status choir_reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                    choir_dtype dtype, choir_op op, int root, const choir_call *call,
                                    choir_event **event_p);

/* choir_barrier: completes once every rank's has started (its deps included). */
CHOIR_API choir_status choir_barrier(choir_comm *comm, const choir_call *call, choir_event **event_p);

/* choir_send, choir_recv: between two ranks; the k-th send of a pair meets its k-th recv, count and dtype must agree.
 * A send may complete before its recv was called.  A rank may send to itself (in a group or with events). */
CHOIR_API choir_status choir_send(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer,
                                  const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_recv(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer,
                                  const choir_call *call, choir_event **event_p);

/* choir_sendrecv: a send to dest and a recv from source that go on side by side, under one event: it completes when
 * both have, and the first failure is its outcome.  They meet other ranks' choir_send, choir_recv and choir_sendrecv
 * alike, whatever the order; dest and source may be the same rank, also this one.  send and recv must not overlap. */
CHOIR_API choir_status choir_sendrecv(choir_comm *comm, choir_buffer send, size_t send_count, int dest,
                                      choir_buffer recv, size_t recv_count, int source, choir_dtype dtype,
                                      const choir_call *call, choir_event **event_p);

/* Persistent collectives: what repeats is checked once.  choir_..._init takes the arguments of the call of that name
 * and keeps them (with references to the cl_mems and the comm); nothing is sent, and ranks need not agree on using it:
 * a start meets a call of that name elsewhere.  call: options, name, deadline_ms and factor hold for every start; deps
 * are refused.
 *
 * choir_start: makes the call once.  call (may be NULL): deps, after and a deadline of this start only.  event_p as in
 * all calls.  A request is started again once its last start is complete, like any call on the same buffers.  Any
 * thread.  A list of tensors is copied, checked and sorted by choir_allreduce_multi_init alone: its starts look at no
 * tensor again.
 * choir_request_free: NULL is silent; what was started goes on. */
typedef struct choir_request choir_request;
CHOIR_API choir_status choir_allreduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                            choir_dtype dtype, choir_op op, const choir_call *call,
                                            choir_request **request_p);
CHOIR_API choir_status choir_allreduce_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                  choir_op op, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_reduce_scatter_init(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                                 size_t recv_count, choir_dtype dtype, choir_op op,
                                                 const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_allgather_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                            choir_dtype dtype, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_alltoall_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                           choir_dtype dtype, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_broadcast_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                            choir_dtype dtype, int root, const choir_call *call,
                                            choir_request **request_p);
CHOIR_API choir_status choir_reduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                         choir_dtype dtype, choir_op op, int root, const choir_call *call,
                                         choir_request **request_p);
CHOIR_API choir_status choir_barrier_init(choir_comm *comm, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_start(choir_request *request, const choir_call *call, choir_event **event_p);
CHOIR_API void choir_request_free(choir_request *request);

/* choir_group_begin, choir_group_end: this thread's calls between them are submitted together by end, so one thread may
 * drive several local ranks and sends may cross.  Calls without event_p are waited for by end, which returns the first
 * failure.  Groups nest; the outermost end counts. */
CHOIR_API choir_status choir_group_begin(void);
CHOIR_API choir_status choir_group_end(void);

/* choir_supports: SUCCESS if the call could be made, else UNSUPPORTED with a sentence.  collective: "allreduce" ...
 * Enqueues nothing. */
CHOIR_API choir_status choir_supports(choir_comm *comm, const char *collective, choir_dtype dtype, choir_op op,
                                      choir_buffer buffer);

#ifdef __cplusplus
}
#endif

#endif
