/* SPDX-License-Identifier: MIT */
/* Persistent collectives: a request owns a prepared call, or one that each start makes anew. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "api/call.h"
#include "exec/prepared.h"

enum { REQUEST_BUFFERS = 4 };

/* request_create: prepares the call that the key says, and keeps its cl_mems. */
choir_status request_create(choir_comm *comm, struct call_key *key, const choir_call *given, choir_request **request_p);

/* The arguments of a call that learns its sizes on the way: it has nothing to prepare. */
struct kept_call {
	const char *function; /* "choir_alltoallv" */
	/* Checks the arguments; nothing is sent.  Makes the call. */
	choir_status (*check)(struct kept_call *kept, choir_comm *comm, const choir_call *call);
	choir_status (*start)(struct kept_call *kept, choir_comm *comm, const choir_call *call, choir_event **event_p);
	void (*destroy)(struct kept_call *kept);
	unsigned takes; /* of a choir_call: enum call_takes */
	/* of any length; an empty one is choir_none() */
	choir_buffer buffers[REQUEST_BUFFERS];
};

/* request_comm, request_numbers: its comm; how many numbers of that comm's collectives a start takes. */
choir_comm *request_comm(const choir_request *request);
uint64_t request_numbers(const choir_request *request);

/* request_keep: a request that makes that call; takes it, also on failure. */
choir_status request_keep(choir_comm *comm, struct kept_call *kept, const choir_call *given, choir_request **request_p);

/* request_named: call_named for an _init function, whose sentences begin with its call's: "choir_allreduce: ..."
 * becomes "choir_allreduce_init: ...". */
choir_status request_named(choir_status st, const char *function, const choir_call *given);

#endif
