/* SPDX-License-Identifier: MIT */
/* The arguments of a choir_alltoallv, read and checked. */
#ifndef API_ALLTOALLV_ARGS_H
#define API_ALLTOALLV_ARGS_H

#include "api/call.h"
#include "api/options.h"
#include "api/vector.h"

/* The counts, displacements and options of the key. */
struct alltoallv_args {
	choir_comm *comm;
	const struct call_key *key;
	struct vector send, recv;
	struct dense_options options;
};

/* alltoallv_args_read: from that key, which must outlive it.  The caller ends it with alltoallv_args_fini, also
 * after a failure. */
choir_status alltoallv_args_read(choir_comm *comm, const struct call_key *key, struct alltoallv_args *out);
void alltoallv_args_fini(struct alltoallv_args *args);

/* alltoallv_args_check: are the buffers in range and apart, and can the named algorithm run on this layout, and as the
 * other options say? */
choir_status alltoallv_args_check(const struct alltoallv_args *args);

#endif
