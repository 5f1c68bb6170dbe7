/* SPDX-License-Identifier: MIT */
/* How to wait while the device works for a run. */
#ifndef EXEC_DEVICE_WAIT_H
#define EXEC_DEVICE_WAIT_H

#include "exec/run.h"

/* device_busy: are commands of the device under way for the run? */
bool run_waits_for_device(const struct run *run);

/* device_block: if the run waits for nothing but commands of a CPU device, blocks until the first of them is over:
 * true.  The driver only, with nothing else to do. */
bool run_block_on_device(struct run *run);

/* device_shares_core: does the device work with threads of this process, which need the core of whoever would spin? */
bool device_shares_core(const struct choir_comm *comm);

#endif
