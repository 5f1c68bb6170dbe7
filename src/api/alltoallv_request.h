/* SPDX-License-Identifier: MIT */
/* The arguments of a choir_alltoallv, read and checked. */
#ifndef API_ALLTOALLV_REQUEST_H
#define API_ALLTOALLV_REQUEST_H

#include "api/call.h"
#include "api/options.h"
#include "api/vector.h"

/* What the key's lists say. */
struct alltoallv_request {
	choir_comm *comm;
	const struct call_key *key;
	struct vector send, recv;
	struct dense_options options;
};

/* alltoallv_request_read: from that key, which must outlive it.  The caller ends it with alltoallv_request_fini, also
 * after a failure. */
choir_status alltoallv_request_read(choir_comm *comm, const struct call_key *key, struct alltoallv_request *out);
void alltoallv_request_fini(struct alltoallv_request *r);

/* alltoallv_request_check: are the buffers in place, and can the named algorithm run on this layout, and as the other
 * options say? */
choir_status alltoallv_request_check(const struct alltoallv_request *r);

#endif
