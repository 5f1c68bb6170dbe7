/* SPDX-License-Identifier: MIT */
/* The start of dense calls: the comm's prepared call of that key if there is one, else a new one. */
#ifndef API_START_H
#define API_START_H

#include "api/call.h"
#include "exec/prepared.h"

/* start_call: makes the call that the key says.  factor, tag and options of the key are taken from `given`.  event_p
 * NULL: blocks. */
choir_status start_call(choir_comm *comm, struct call_key *key, const choir_call *given, choir_event **event_p);

/* start_prepare: prepares a call whose key is complete.  call: read; without deadline_ms builds have the comm's. */
choir_status start_prepare(choir_comm *comm, const struct call_key *key, const choir_call *call,
                           struct prepared **out_p);

/* start_keep: the comm keeps the call, if it lasts and no other thread drives just now. */
void start_keep(choir_comm *comm, struct prepared *prepared);

/* start_takes: the next start_prepared of it may begin.  false: its results' room is another call's (result=atomic), or
 * a cl_mem cannot be retained: the call is to be prepared anew. */
bool start_takes(struct prepared *prepared);

/* start_prepared: makes a prepared call, which start_takes has allowed.  call: read.  hold: what keeps the cl_mems of a
 * list; NULL = they are retained here, if the call returns before its end. */
choir_status start_prepared(choir_comm *comm, struct prepared *prepared, const choir_call *call, choir_event **event_p,
                            struct segments_owner *hold);

#endif
