/* SPDX-License-Identifier: MIT */
/* Persistent collectives: a request owns a prepared call. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "api/form.h"

/* request_create: prepares the call that the key says, and keeps its cl_mems. */
choir_status request_create(choir_comm *comm, struct call_key *key, const choir_call *given, choir_request **request_p);

#endif
