/* SPDX-License-Identifier: MIT */
/* How to wait while the device works for a run. */
#ifndef EXEC_DEVICE_WAIT_H
#define EXEC_DEVICE_WAIT_H

#include "exec/run.h"

/* run_waits_for_device: are commands of the device under way for the run? */
bool run_waits_for_device(const struct run *run);

/* run_ring_at_ends: the end of each command that is under way for the run rings this process's doorbell; false if
 * OpenCL refuses.  A command that fails may not.  The driver only. */
bool run_ring_at_ends(struct run *run);

/* run_block_on_device: if the run waits for nothing but commands of a CPU device and flags of peers, blocks until the
 * first command is over: true.  The driver only, with nothing else to do. */
bool run_block_on_device(struct run *run);

#endif
