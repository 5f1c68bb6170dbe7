/* SPDX-License-Identifier: MIT */
#ifndef API_SPARSE_CALL_H
#define API_SPARSE_CALL_H

#include "api/call.h"
#include "api/options.h"
#include "sparse/sparse.h"

/* sparse_call_read: sets sparse->algorithm, whose text is in `algorithm` then, and checks it, the data types, the
 * operator and the order that the options ask for.  ARGUMENT, UNSUPPORTED, by that name. */
choir_status sparse_call_read(const char *name, const choir_comm *comm, const choir_call *call,
                              struct sparse_call *sparse, char algorithm[OPTIONS_VALUE_BYTES]);

#endif
