/* SPDX-License-Identifier: MIT */
/* The dense collectives.
 *
 * Counts are in elements.  All ranks of a comm make the same calls in the same order (send and recv: only the two ranks
 * of the pair).  A call that differs between ranks fails the comm on every rank, with a sentence that names both calls.
 * In place: the same range is given as send and recv; any other overlap is an error.
 *
 * call: options and deps of the call; NULL: none.
 * event_p: NULL: the call blocks and returns the outcome.  Else it returns at once with a reference in *event_p, and
 * the contents of the buffers belong to the collective until the event completes.
 * Any thread may call.
 * Errors of every call, nothing sent and nothing changed: ARGUMENT, UNSUPPORTED (a type, operator or algorithm that
 * does not fit), WOULD_DEADLOCK (a blocking call in a callback), NO_MEMORY, OPENCL, TIMEOUT where kernels that it needs
 * before it begins are not built by its deadline, and the comm's sticky failure; as outcome MISMATCH, TIMEOUT,
 * PEER_DEAD, OPENCL, TRANSPORT, NO_MEMORY, ABORTED, UNSUPPORTED. */
#ifndef CHOIR_COLLECTIVE_H
#define CHOIR_COLLECTIVE_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* choir_allreduce: recv[i] = op over all ranks of send[i], i < count. */
CHOIR_API choir_status choir_allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                       choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p);

/* choir_allreduce_multi: an allreduce of each of n tensors under one event.  Data types may differ; many small tensors
 * cost little more than one of their total length.  Each tensor may be in place; no two may overlap.  n_tensors, counts
 * and data types agree on all ranks, which is checked; op and the rank's factor apply to all tensors.  The list is
 * copied before the call returns.  Inexact sums may differ in the last bits from those of a call for one tensor; they
 * are the same on all ranks, and each time for the same list. */
typedef struct choir_tensor {
	choir_buffer send, recv;
	size_t count; /* may be 0 */
	choir_dtype dtype;
} choir_tensor;
CHOIR_API choir_status choir_allreduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                             choir_op op, const choir_call *call, choir_event **event_p);

/* The same for other collectives.  A tensor's count is the one that the call for it alone would be given, and so are
 * the lengths of its send and recv; block r of the list is block r of each tensor:
 * choir_reduce_scatter_multi: count is what each rank gets of the tensor.  choir_allgather_multi: what it gives.
 * choir_broadcast_multi, choir_reduce_multi: one root for all; buffers that the call for one tensor does not look at
 * may be choir_none(), also the root's recv of a broadcast.
 * In place, as in the calls for one tensor (reduce_scatter: recv is this rank's block of send), are all tensors or
 * none. */
CHOIR_API choir_status choir_reduce_scatter_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                  choir_op op, const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_allgather_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                             const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_broadcast_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, int root,
                                             const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_reduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op,
                                          int root, const choir_call *call, choir_event **event_p);

/* choir_reduce_scatter: send holds size * recv_count elements; rank r gets block r of the reduction.  In place: recv is
 * block r of send, or starts where send starts. */
CHOIR_API choir_status choir_reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                            choir_dtype dtype, choir_op op, const choir_call *call,
                                            choir_event **event_p);

/* choir_reduce_scatter_padded: send holds count elements, any number of them; they are cut into blocks of
 * ceil(count / size), and where the last blocks end beyond them zeros stand in recv, which holds a block (of an
 * operator of the caller's: what it makes of zeros).
 * choir_allgather_padded: its inverse: send holds a block, recv gets the count elements without the padding.
 * ..._multi: a list, each tensor padded apart; a tensor's count is that of its longer buffer.  Never in place. */
CHOIR_API choir_status choir_reduce_scatter_padded(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                                   choir_dtype dtype, choir_op op, const choir_call *call,
                                                   choir_event **event_p);
CHOIR_API choir_status choir_allgather_padded(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                              choir_dtype dtype, const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_reduce_scatter_padded_multi(choir_comm *comm, const choir_tensor *tensors,
                                                         size_t n_tensors, choir_op op, const choir_call *call,
                                                         choir_event **event_p);
CHOIR_API choir_status choir_allgather_padded_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                    const choir_call *call, choir_event **event_p);

/* choir_reduce_scatterv: rank r gets its recv_counts[r] elements of the reduction; send holds the blocks of all ranks
 * one after another.  The counts agree on all ranks, which is checked.  In place: recv is this rank's block of send. */
CHOIR_API choir_status choir_reduce_scatterv(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                             const size_t *recv_counts, choir_dtype dtype, choir_op op,
                                             const choir_call *call, choir_event **event_p);

/* choir_allgather: recv holds size * send_count elements; block r comes from rank r.  In place: send is block r of
 * recv. */
CHOIR_API choir_status choir_allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                       choir_dtype dtype, const choir_call *call, choir_event **event_p);

/* choir_allgatherv: rank r contributes recv_counts[r] elements, placed displacements[r] elements into recv; NULL: one
 * after another.  send_count equals recv_counts[own rank].  The counts agree on all ranks; displacements may differ,
 * and their blocks must not overlap. */
CHOIR_API choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                        const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                        const choir_call *call, choir_event **event_p);

/* choir_alltoall: send and recv hold size * count elements; block p of send goes to rank p, block p of recv comes from
 * rank p.  In place: each block is replaced by its counterpart. */
CHOIR_API choir_status choir_alltoall(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                      choir_dtype dtype, const choir_call *call, choir_event **event_p);

/* choir_alltoallv: send_counts[p] elements from send_displacements[p] of send go to rank p; recv_counts[p] elements
 * from rank p are placed at recv_displacements[p] of recv; displacements NULL: one after another.  Each rank gives its
 * own counts, which the ranks compare first: where a receiver expects another count than its sender gives, the call
 * ends with MISMATCH on every rank and nothing is written.  Blocks of recv must not overlap each other nor send; blocks
 * of send may overlap.  The arrays are copied before the call returns. */
CHOIR_API choir_status choir_alltoallv(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                       const size_t *send_displacements, choir_buffer recv, const size_t *recv_counts,
                                       const size_t *recv_displacements, choir_dtype dtype, const choir_call *call,
                                       choir_event **event_p);

/* choir_broadcast: recv on every rank = send of root.  Other ranks' send is ignored; the root's recv may be
 * choir_none(). */
CHOIR_API choir_status choir_broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                       choir_dtype dtype, int root, const choir_call *call, choir_event **event_p);

/* choir_reduce: recv on root = op over all ranks of send.  Other ranks' recv is ignored. */
CHOIR_API choir_status choir_reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                    choir_dtype dtype, choir_op op, int root, const choir_call *call,
                                    choir_event **event_p);

/* choir_gather: recv of root holds size * send_count elements; block r comes from rank r.  Other ranks' recv is
 * ignored. In place: the root's send is its block of recv, or choir_none(). */
CHOIR_API choir_status choir_gather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                    choir_dtype dtype, int root, const choir_call *call, choir_event **event_p);

/* choir_gatherv: rank r contributes recv_counts[r] elements, placed displacements[r] elements into the root's recv;
 * NULL: one after another.  send_count equals recv_counts[own rank].  The counts agree on all ranks, which is checked;
 * the root's displacements alone are read, and their blocks must not overlap.  In place as choir_gather. */
CHOIR_API choir_status choir_gatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                     const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                     int root, const choir_call *call, choir_event **event_p);

/* choir_scatter: send of root holds size * recv_count elements; rank r gets block r.  Other ranks' send is ignored.  In
 * place: the root's recv is its block of send, or choir_none(). */
CHOIR_API choir_status choir_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                     choir_dtype dtype, int root, const choir_call *call, choir_event **event_p);

/* choir_scatterv: rank r gets send_counts[r] elements, which begin displacements[r] elements into the root's send;
 * NULL: one after another.  recv_count equals send_counts[own rank].  The counts agree on all ranks, which is checked;
 * the root's displacements alone are read, and their blocks may overlap.  In place as choir_scatter. */
CHOIR_API choir_status choir_scatterv(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                      const size_t *displacements, choir_buffer recv, size_t recv_count,
                                      choir_dtype dtype, int root, const choir_call *call, choir_event **event_p);

/* choir_scan, choir_exscan: recv of rank r = op over ranks 0 to r (exscan: 0 to r - 1) of send, folded from left to
 * right in rank order by every algorithm.  So the bits are the same for every layout and algorithm, but those of types
 * that are rounded on the way (16 and 8 bit floats), for which order=ranks promises it.  Rank 0's recv of an exscan is
 * ignored.  UNSUPPORTED: mean; local in an exscan. */
CHOIR_API choir_status choir_scan(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                  choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_exscan(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                    choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p);

/* choir_barrier: completes once every rank has made the call and the call's deps are complete. */
CHOIR_API choir_status choir_barrier(choir_comm *comm, const choir_call *call, choir_event **event_p);

/* choir_send, choir_recv: the k-th send from one rank to another with a tag (choir_call.tag) matches the other's k-th
 * recv with that tag; count and dtype must agree.  Each tag that a pair has used takes 40 bytes until the comm is
 * destroyed.  A send may complete before its recv is called.  As a standard send of MPI's may, it may also wait for
 * room: where the peer's process, stopped or busy outside choir, leaves more than 16 MiB unread.  A process takes in
 * what arrives, for all its comms, while any of its threads waits in choir.  A rank may send to itself, in a group or
 * with events. */
CHOIR_API choir_status choir_send(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer,
                                  const choir_call *call, choir_event **event_p);
CHOIR_API choir_status choir_recv(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer,
                                  const choir_call *call, choir_event **event_p);

/* choir_sendrecv: a send to dest and a recv from source at the same time, under one event, which completes when both
 * have; the first failure is its outcome.  They match other ranks' choir_send, choir_recv and choir_sendrecv, in any
 * order; dest and source may be the same rank, also this one; both have the call's tag.  send and recv must not
 * overlap. */
CHOIR_API choir_status choir_sendrecv(choir_comm *comm, choir_buffer send, size_t send_count, int dest,
                                      choir_buffer recv, size_t recv_count, int source, choir_dtype dtype,
                                      const choir_call *call, choir_event **event_p);

/* Persistent collectives: the arguments of a repeated call are checked once.  choir_..._init takes the arguments of the
 * call of that name and keeps them, with references to the cl_mems and the comm.  It sends nothing, and ranks need not
 * agree on using it: a start matches an ordinary call of that name on other ranks.  call: options, name, deadline_ms,
 * factor, key and tag hold for every start; deps are refused.
 *
 * choir_start: makes the call once.  call (may be NULL): deps, after, a key and a deadline of this start only; options,
 * factor and tag are ARGUMENT.  event_p as in all calls.  Start a request again only when its last start is complete.
 * Any thread.  The ..._multi_init copy, check and sort their list of tensors; a start does not.
 * choir_request_free: NULL is silent; calls already started go on. */
typedef struct choir_request choir_request;
CHOIR_API choir_status choir_allreduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                            choir_dtype dtype, choir_op op, const choir_call *call,
                                            choir_request **request_p);
CHOIR_API choir_status choir_allreduce_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                  choir_op op, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_reduce_scatter_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                       choir_op op, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_allgather_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                  const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_broadcast_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                  int root, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_reduce_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                               choir_op op, int root, const choir_call *call,
                                               choir_request **request_p);
CHOIR_API choir_status choir_reduce_scatter_padded_init(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                                        size_t count, choir_dtype dtype, choir_op op,
                                                        const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_reduce_scatter_padded_multi_init(choir_comm *comm, const choir_tensor *tensors,
                                                              size_t n_tensors, choir_op op, const choir_call *call,
                                                              choir_request **request_p);
CHOIR_API choir_status choir_allgather_padded_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                                   choir_dtype dtype, const choir_call *call,
                                                   choir_request **request_p);
CHOIR_API choir_status choir_allgather_padded_multi_init(choir_comm *comm, const choir_tensor *tensors,
                                                         size_t n_tensors, const choir_call *call,
                                                         choir_request **request_p);
CHOIR_API choir_status choir_reduce_scatter_init(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                                 size_t recv_count, choir_dtype dtype, choir_op op,
                                                 const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_allgather_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                            choir_dtype dtype, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_alltoall_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                           choir_dtype dtype, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_alltoallv_init(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                            const size_t *send_displacements, choir_buffer recv,
                                            const size_t *recv_counts, const size_t *recv_displacements,
                                            choir_dtype dtype, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_broadcast_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                            choir_dtype dtype, int root, const choir_call *call,
                                            choir_request **request_p);
CHOIR_API choir_status choir_reduce_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                         choir_dtype dtype, choir_op op, int root, const choir_call *call,
                                         choir_request **request_p);
CHOIR_API choir_status choir_reduce_scatterv_init(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                                  const size_t *recv_counts, choir_dtype dtype, choir_op op,
                                                  const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_allgatherv_init(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                             const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                             const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_gather_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count,
                                         choir_dtype dtype, int root, const choir_call *call,
                                         choir_request **request_p);
CHOIR_API choir_status choir_gatherv_init(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                          const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                          int root, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_scatter_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count,
                                          choir_dtype dtype, int root, const choir_call *call,
                                          choir_request **request_p);
CHOIR_API choir_status choir_scatterv_init(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                           const size_t *displacements, choir_buffer recv, size_t recv_count,
                                           choir_dtype dtype, int root, const choir_call *call,
                                           choir_request **request_p);
CHOIR_API choir_status choir_scan_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                       choir_dtype dtype, choir_op op, const choir_call *call,
                                       choir_request **request_p);
CHOIR_API choir_status choir_exscan_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                         choir_dtype dtype, choir_op op, const choir_call *call,
                                         choir_request **request_p);
CHOIR_API choir_status choir_send_init(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer,
                                       const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_recv_init(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer,
                                       const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_sendrecv_init(choir_comm *comm, choir_buffer send, size_t send_count, int dest,
                                           choir_buffer recv, size_t recv_count, int source, choir_dtype dtype,
                                           const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_barrier_init(choir_comm *comm, const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_start(choir_request *request, const choir_call *call, choir_event **event_p);
CHOIR_API void choir_request_free(choir_request *request);

/* Recorded sequences: requests that are started together, one behind the other, under one event.
 *
 * choir_sequence_create: keeps the n requests, of any comms, in that order; they stay the caller's, and must not be
 * freed before the sequence.  A request may be in several sequences, and several times in one.
 * choir_sequence_start: starts each request when the one before it is complete, so one may read what the one before it
 * wrote.  All ranks start the same calls in the same order, by a sequence or by themselves.  call (may be NULL): deps,
 * after and a deadline: deps and after are the first request's, the deadline is each one's.  event_p as in all calls:
 * it completes with the last request; if one fails those behind it fail too; without it WOULD_DEADLOCK where this
 * thread drives other ranks of a request's comm, which lack the calls.  Start a sequence again only when its last
 * start is complete.  ARGUMENT: requests already started go on.
 * On keyed comms each request has its own key, of its init, so none stands twice in a sequence; a key in call is
 * ARGUMENT, and nothing is started.
 * choir_sequence_free: NULL is silent; calls already started go on. */
typedef struct choir_sequence choir_sequence;
CHOIR_API choir_status choir_sequence_create(choir_request *const *requests, size_t n, choir_sequence **out_p);
CHOIR_API choir_status choir_sequence_start(choir_sequence *sequence, const choir_call *call, choir_event **event_p);
CHOIR_API void choir_sequence_free(choir_sequence *sequence);

/* choir_group_begin, choir_group_end: choir_group_end submits this thread's calls since choir_group_begin together, so
 * that one thread can call for several local ranks and sends may cross.  It waits for the calls without event_p and
 * returns the first failure.  Groups nest; the outermost choir_group_end submits.
 * choir_group_begin inside a callback: WOULD_DEADLOCK.
 * choir_group_cancel: instead of choir_group_end, where not all calls of the group could be made (one was refused, for
 * instance): closes all of this thread's groups and drops their calls, as if they had never been made.  Their events
 * complete with ABORTED; their comms go on.  Ranks that are not this thread's wait for the calls, if they made them,
 * until these are made after all or choir_comm_abort ends it.  Does not block.
 * choir_group_end, choir_group_cancel: ARGUMENT without choir_group_begin. */
CHOIR_API choir_status choir_group_begin(void);
CHOIR_API choir_status choir_group_end(void);
CHOIR_API choir_status choir_group_cancel(void);

/* choir_supports: SUCCESS if this call is possible, else UNSUPPORTED with a sentence; ARGUMENT for an unknown
 * name, a bad buffer, an operator that is gone; the comm's sticky failure.  collective: "allreduce",
 * "reduce_scatter_padded", "sparse_allreduce", "topk_allreduce", ...; a list of tensors is asked for by the call for
 * one of them.  op may be an operator of the caller's.  Enqueues, builds and sends nothing. */
CHOIR_API choir_status choir_supports(choir_comm *comm, const char *collective, choir_dtype dtype, choir_op op,
                                      choir_buffer buffer);

/* choir_predict: the seconds that the cost model (choir_plan_predict in <choir/plan.h>) gives for this call on this
 * comm, from a common start until the last rank is done, by its layout, rules and options.  The buffers are memory of
 * the comm's device and not in place.  If that memory is far (a GPU's own), one read of the whole SEND and one write of
 * the whole RECV are added, by the measured rates; long calls overlap these with the rest and take less.  Of a rank
 * that is alone in its comm that holds for short calls only: the others are done on its device.
 * collective: "allreduce", ..., also "reduce_scatter_padded" and "allgather_padded".  count, op and root: as the call
 * is given them; root: the peer of send and recv; what a collective does not take is ignored.  v forms: count is the
 * elements of every block.  sparse_allreduce: each rank has count pairs of one value, of i32 indices spread evenly over
 * 0 to 2^31 - 1, and the time is predicted_us of its statistics (<choir/sparse.h>).
 * call (may be NULL): its options.  The network's latency and rate are those that "costs:" in the comm's rules sets,
 * else the model's.  *algorithm_p (may be NULL): what would run; "local" for the operator local.  Sends nothing; takes
 * about a second for a million steps of all ranks; any thread.  ARGUMENT; UNSUPPORTED: a plan of millions of steps;
 * topk_allreduce, since its state decides how much it sends; a message of a rank to itself. */
CHOIR_API choir_status choir_predict(choir_comm *comm, const char *collective, size_t count, choir_dtype dtype,
                                     choir_op op, int root, const choir_call *call, double *seconds_p,
                                     const char **algorithm_p);

#ifdef __cplusplus
}
#endif

#endif
