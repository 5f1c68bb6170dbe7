/* SPDX-License-Identifier: MIT */
/* One call on all ranks of a comm, which are of this process, by one thread.  The calls are prepared first, so a bad
 * argument of one rank is found before any rank has sent; then all are started under one event. */
#ifndef API_LOCAL_CALLS_H
#define API_LOCAL_CALLS_H

#include "api/call.h"

struct local_call {
	const char *name; /* "choir_allreduce_local" */
	int n;
	choir_comm *const *comms;
	const choir_call *given;  /* by the caller */
	choir_call prepared;      /* what the caller said, without deps: for the calls' _init */
	choir_call started;       /* deps alone: for choir_start */
	choir_request **requests; /* [n] the caller fills them; NULL = not yet */
};

/* local_call_begin: checks comms and call, and enters all comms.  ARGUMENT, WOULD_DEADLOCK, NO_MEMORY: there is
 * nothing to end then. */
choir_status local_call_begin(const char *name, int n_local, choir_comm *const *comms, const choir_call *given,
                              struct local_call *out);

/* local_call_end: st: of the preparations, whose sentence names the function; SUCCESS starts the calls, and waits for
 * them if event_p is NULL.  Leaves the comms and frees the requests. */
choir_status local_call_end(struct local_call *local, choir_status st, choir_event **event_p);

#endif
