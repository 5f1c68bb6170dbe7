/* SPDX-License-Identifier: MIT */
/* Blocking calls that find nothing else under way are carried out on the spot: no submission, no event, no allocation.  One that has to wait for long becomes an
 * ordinary run. */
#ifndef EXEC_EXPRESS_H
#define EXEC_EXPRESS_H

#include "exec/run.h"

/* express_begin: the comm's run for such calls; its engine is this thread's until express_end or express_drop.  NULL: something is under way, go the usual way.  The
 * run still has the plan of the call before, and what that was for (run->in). */
struct run *express_begin(struct choir_comm *comm);
void express_drop(struct run *run);

/* express_end: carries the call out.  *event_p NULL: it is over, and its outcome is returned; else it goes on as an ordinary run with that event, a reference. */
choir_status express_end(struct run *run, choir_event **event_p);

#endif
