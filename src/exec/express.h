/* SPDX-License-Identifier: MIT */
/* Blocking calls that find nothing else under way are carried out on the spot: no submission, no event, no allocation.  One that has to wait for long becomes an
 * ordinary run. */
#ifndef EXEC_EXPRESS_H
#define EXEC_EXPRESS_H

#include "exec/run.h"

/* express_kind_of: which of the comm's runs (exec/repeat.h) a call of that collective takes. */
enum express_kind express_kind_of(enum collective collective);

/* express_lock: takes the engine's drive lock if nothing is under way on the comm and calls are accepted. */
bool express_lock(struct choir_comm *comm);

/* express_begin: the comm's runs for such calls, one of each kind: n is 1, or 2 for a send and a recv that are one call.  The comm's engine is this thread's until
 * express_end or express_drop.  False: something is under way, go the usual way.  A run still has the plan of the call before, and what that was for (run->bound.in). */
bool express_begin(struct choir_comm *comm, const enum express_kind *kinds, int n, struct run **runs);
void express_drop(struct run *const *runs, int n);

/* express_end: carries the call out.  *event_p NULL: it is over, and its outcome is returned; else it goes on as ordinary runs with that event, a reference. */
choir_status express_end(struct run *const *runs, int n, choir_event **event_p);

/* express_carry_out: the same for runs that have their numbers. */
choir_status express_carry_out(struct run *const *runs, int n, choir_event **event_p);

#endif
