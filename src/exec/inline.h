/* SPDX-License-Identifier: MIT */
/* Inline execution: the caller's thread executes a blocking call, from its number to its last step, without a
 * list of submissions, the completion of an event or an allocation.  Only when nothing else of the comm is under way.
 * A call that has to wait for long becomes an ordinary run, and the caller waits for its event as for any other.  Never
 * a call with deps, one of result=atomic, or a collective of a keyed comm (src/api/start.c; src/api/dense.c:
 * dense_may_inline). */
#ifndef EXEC_INLINE_H
#define EXEC_INLINE_H

#include "exec/prepared.h"

/* inline_enter: takes the right to drive if nothing is under way on the comm and calls are accepted.  inline_leave:
 * gives it back. */
bool inline_enter(struct choir_comm *comm);
void inline_leave(struct choir_comm *comm);

/* inline_execute: executes the parts [first, first + n) of the call as one: n is 1, or 2 for a send and a recv.
 * After inline_enter, and gives the right back.  deadline_ms 0 = the comm's; name: for sentences; NULL = the
 * function's.  *event_p NULL: it is over, and its outcome is returned; else it goes on
 * as ordinary runs with that event, a reference. */
choir_status inline_execute(struct choir_comm *comm, struct prepared *prepared, size_t first, size_t n,
                            int64_t deadline_ms, const char *name, choir_event **event_p);

#endif
