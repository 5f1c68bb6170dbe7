/* SPDX-License-Identifier: MIT */
/* The deps of a call, for which it waits before it starts: cl_events and events of other calls. */
#ifndef EXEC_DEPS_H
#define EXEC_DEPS_H

#include "base/error.h"

#include <choir/event.h>
#include <stdbool.h>

struct run;

/* Filled before the run is submitted. */
struct run_deps {
	cl_event *cl;
	size_t n_cl, next_cl; /* those before next_cl are complete */
	choir_event **events;
	size_t n_events, next_event;
};

/* deps_take: copies and retains what the call depends on; after (may be NULL) becomes a marker event.  Starts
 * watching. */
choir_status deps_take(struct run *run, const choir_call *call);

/* deps_poll: are all complete?  *moved becomes true if one more is; the error of a dep that failed is returned.
 * deps_release: gives back what deps_take took. */
choir_status deps_poll(struct run_deps *deps, bool *moved, bool *done_p);
void deps_release(struct run_deps *deps);

#endif
