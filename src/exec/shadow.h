/* SPDX-License-Identifier: MIT */
/* Short buffers of class stage or map: one command copies the whole buffer, and the plan works on the copy. */
#ifndef EXEC_SHADOW_H
#define EXEC_SHADOW_H

#include "exec/run.h"

/* shadow_bytes: of the shadows that the run's plan works on, beside its scratch. */
uint64_t shadow_bytes(const struct run *run);

/* shadow_fill: copies SEND to its shadow, if the plan reads SEND; steps_make_room has made room.  event_p: starts the
 * copy, *event_p is complete once it is over, NULL if there is none; NULL: blocks.  The second call of a run does
 * nothing.
 * shadow_empty: copies RECV's shadow to RECV, if the plan writes RECV; the same.
 * shadow_drop: the run failed or takes another plan; nothing is copied. */
choir_status shadow_fill(struct run *run, cl_event *event_p);
choir_status shadow_empty(struct run *run, cl_event *event_p);
void shadow_drop(struct run *run);

#endif
