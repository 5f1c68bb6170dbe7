/* SPDX-License-Identifier: MIT */
/* Persistent collectives: a call that was checked once and is started again and again. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "api/dense.h"

struct request_ops {
	/* Makes the call, which was checked. */
	choir_status (*start)(choir_request *request, const choir_call *call, choir_event **event_p);
	/* Lets go of what the kind keeps; the request is freed by the caller. */
	void (*drop)(choir_request *request);
};

/* What all kinds keep; the first member of each. */
struct choir_request {
	const struct request_ops *ops;
	const char *name;      /* of the call: "choir_allreduce" */
	choir_comm *comm;      /* a reference */
	choir_call call;       /* without deps */
	char *options, *label; /* what call points to, NULL = none given */
};

/* request_check: can the call, which call_read has seen, be kept in *request_p?  ARGUMENT.
 * request_init: a zeroed one's common part.  After a failure choir_request_free takes it back all the same. */
choir_status request_check(const char *name, const choir_call *call, choir_request **request_p);
choir_status request_init(choir_request *request, const struct request_ops *ops, const char *name, choir_comm *comm, const choir_call *call);

/* request_create: checks the call as dense_start would, and keeps it. */
choir_status request_create(struct dense *d, const choir_call *call, choir_request **request_p);

#endif
