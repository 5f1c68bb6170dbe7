/* SPDX-License-Identifier: MIT */
/* The dense collectives.
 *
 * Counts are elements.  All ranks of a comm make the same calls in the same order (send and recv: the two ranks concerned); a call that
 * differs fails the comm on every rank, naming both.  In place = the same range given twice; any other overlap is an error.  call NULL =
 * no deps.  event_p NULL: block and return the outcome; else the call returns at once, *event_p gets a reference, and the *contents* of
 * the buffers belong to the collective until the event completes.  Any thread.
 * Errors of every call: ARGUMENT (nothing was sent, nothing changed), the comm's sticky failure, and as outcome MISMATCH, TIMEOUT,
 * PEER_DEAD, OPENCL, TRANSPORT, NO_MEMORY, ABORTED, UNSUPPORTED. */
#ifndef CHOIR_COLLECTIVE_H
#define CHOIR_COLLECTIVE_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* choir_allreduce: recv[i] = op over all ranks of send[i], i < count. */
CHOIR_API choir_status choir_allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype,
                                       choir_op op, const choir_call *call, choir_event **event_p);

/* choir_reduce_scatter: send holds size * recv_count elements; rank r gets block r of the reduction.  In place: recv is block r of
 * send, or the very same start. */
CHOIR_API choir_status choir_reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype,
                                            choir_op op, const choir_call *call, choir_event **event_p);

/* choir_allgather: recv holds size * send_count elements; block r comes from rank r.  In place: send is block r of recv. */
CHOIR_API choir_status choir_allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype,
                                       const choir_call *call, choir_event **event_p);

/* choir_allgatherv: rank r contributes recv_counts[r] elements (send_count must equal recv_counts[me]), placed at displacements[r] elements;
 * displacements NULL = one after another.  The counts agree on all ranks; displacements may differ and their blocks must not overlap. */
CHOIR_API choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                        const size_t *recv_counts, const size_t *displacements, choir_dtype dtype, const choir_call *call,
                                        choir_event **event_p);

/* choir_broadcast: recv on every rank = send of root.  send is looked at on the root only. */
CHOIR_API choir_status choir_broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root,
                                       const choir_call *call, choir_event **event_p);

/* choir_reduce: recv on root = op over all ranks of send.  recv is looked at on the root only. */
CHOIR_API choir_status choir_reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op,
                                    int root, const choir_call *call, choir_event **event_p);

/* choir_barrier: completes once every rank's has started (its deps included). */
CHOIR_API choir_status choir_barrier(choir_comm *comm, const choir_call *call, choir_event **event_p);

/* choir_send, choir_recv: between two ranks; the k-th send of a pair meets its k-th recv, count and dtype must agree.  A send may
 * complete before its recv was called.  A rank may send to itself (in a group or with events). */
CHOIR_API choir_status choir_send(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer, const choir_call *call,
                                  choir_event **event_p);
CHOIR_API choir_status choir_recv(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer, const choir_call *call,
                                  choir_event **event_p);

/* choir_group_begin, choir_group_end: this thread's calls between them are submitted together by end, so one thread may drive several
 * local ranks and sends may cross.  Calls without event_p are waited for by end, which returns the first failure.  Groups nest; the
 * outermost end counts. */
CHOIR_API choir_status choir_group_begin(void);
CHOIR_API choir_status choir_group_end(void);

/* choir_supports: SUCCESS if the call could be made, else UNSUPPORTED with a sentence.  collective: "allreduce" ...  Enqueues nothing. */
CHOIR_API choir_status choir_supports(choir_comm *comm, const char *collective, choir_dtype dtype, choir_op op, choir_buffer buffer);

#ifdef __cplusplus
}
#endif

#endif
