/* SPDX-License-Identifier: MIT */
/* When something ended, noted by a callback at the moment it did, on whatever thread that runs. */
#ifndef TRAIN_STAMP_H
#define TRAIN_STAMP_H

#include "fail.h"

#include <CL/cl.h>
#include <stdint.h>

struct stamp {
	_Atomic int64_t ns; /* 0 = not yet */
};

/* stamp_clock: nanoseconds of the monotonic clock. */
int64_t stamp_clock(void);

void stamp_clear(struct stamp *stamp);
void stamp_now(struct stamp *stamp);

/* stamp_on: notes when a command ends.  The stamp must stay until stamp_wait has returned. */
choir_status stamp_on(struct stamp *stamp, cl_event event);

/* stamp_wait: the time noted; waits for a callback that is still on its way (what it tells of has happened already). */
int64_t stamp_wait(struct stamp *stamp);

#endif
