/* SPDX-License-Identifier: MIT */
/* Note [gathered lists].  Where only commands reach the caller's buffers, each segment of a list is a command each way,
 * and short ones take as long as the bus takes for many KB.  So kernels, or copies where the device is faster at them
 * (gathered_move.h), bring the segments together in one buffer of the run on the device, and out of it, and the plan
 * has one ordinary buffer of class stage before it.  That holds for segments that are whole cl_mems: a kernel may touch
 * all of a buffer that it is given, and other calls may be at the rest of it.  Each rank and each side decides for
 * itself.  Calls of long segments keep a command each: the copy on the device would take longer than the commands it
 * saves. */
#ifndef EXEC_GATHERED_H
#define EXEC_GATHERED_H

#include "exec/run.h"

/* gathered_fits: are the segments, of that many bytes with their padding, gathered (written: scattered)?  Builds the
 * kernels when they are first needed; TIMEOUT at the deadline of dev_build_deadline. */
choir_status gathered_fits(choir_device *device, const struct segments *segments, uint64_t bytes, bool written,
                           bool *fits_p);

/* gathered_fill: makes room for the run's SEND and RECV, as far as they are gathered, and starts to gather SEND, if the
 * plan reads it and no shadow's read comes behind it.  *event_p: complete once it is over; unchanged if there is
 * nothing to wait for.  The second call of a run does nothing.
 * gathered_empty: starts to scatter RECV, if the plan writes it, the same.
 * gathered_drop: the run failed; nothing is scattered. */
choir_status gathered_fill(struct run *run, cl_event *event_p);
choir_status gathered_empty(struct run *run, cl_event *event_p);
void gathered_drop(struct run *run);

#endif
