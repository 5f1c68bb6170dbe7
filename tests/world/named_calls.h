/* SPDX-License-Identifier: MIT */
/* A call of each kind with the name that it is given, in buffers of its own.  Two ranks. */
#ifndef WORLD_NAMED_CALLS_H
#define WORLD_NAMED_CALLS_H

#include <choir/choir.h>

enum { NAMED_COUNT = 100, N_NAMED_CALLS = 12 };

struct named_buffers {
	int32_t in[2 * NAMED_COUNT], out[2 * NAMED_COUNT];
	float values[2 * NAMED_COUNT], sums[4 * NAMED_COUNT];
	size_t n_ind, n_val;
};

typedef choir_status named_call_fn(choir_comm *comm, struct named_buffers *b, const choir_call *call,
                                   choir_event **event_p);

/* kept: a request that has the name, whose start has none.  broadcast_list: from rank 1. */
named_call_fn named_allreduce, named_allgatherv, named_alltoallv, named_list, named_recv, named_sendrecv, named_sparse,
    named_broadcast_list, named_allgather_list, named_kept, named_kept_sparse, named_topk;

extern named_call_fn *const named_calls[N_NAMED_CALLS]; /* these */

/* named: a call's settings, with the name "gradients". */
choir_call named(void);

#endif
