/* SPDX-License-Identifier: MIT */
/* The dense collectives behind one set of arguments, so that a table of them needs no function for each: choir-bench's
 * and the tests' tables call these. */
#ifndef LIB_COLLECTIVE_H
#define LIB_COLLECTIVE_H

#include <choir/choir.h>

/* What a collective does not look at may be anything. */
struct collective_args {
	choir_comm *comm;
	choir_buffer send, recv;
	size_t count; /* allgatherv: of this rank's block */
	const size_t *send_counts, *send_offs, *recv_counts, *recv_offs;
	choir_dtype dtype;
	choir_op op;
	int root; /* sendrecv: sends to the next rank and receives from the one before, round the ring */
};

typedef choir_status collective_fn(const struct collective_args *args, const choir_call *call, choir_event **event_p);

collective_fn collective_allreduce, collective_reduce_scatter, collective_reduce_scatterv, collective_allgather,
    collective_allgatherv, collective_alltoall, collective_alltoallv, collective_broadcast, collective_reduce,
    collective_barrier, collective_sendrecv;

#endif
