/* SPDX-License-Identifier: MIT */
#ifndef API_VECTOR_CALLS_H
#define API_VECTOR_CALLS_H

#include "api/call.h"

/* reduce_scatterv_at_init: choir_reduce_scatterv_init with blocks that begin at those elements of send; the same on all
 * ranks.  Blocks that overlap are an ARGUMENT. */
choir_status reduce_scatterv_at_init(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts,
                                     const size_t *offsets, choir_dtype dtype, choir_op op, const choir_call *call,
                                     choir_request **request_p);

#endif
