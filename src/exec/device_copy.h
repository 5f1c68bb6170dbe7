/* SPDX-License-Identifier: MIT */
/* Copies from device memory to device memory, of any kinds. */
#ifndef EXEC_DEVICE_COPY_H
#define EXEC_DEVICE_COPY_H

#include "exec/run.h"

/* device_copy: starts a copy on the device's queue of kernels.  event_p NULL: it starts with the next command that has
 * an event.  After a failure commands without an event may be under way (dev_drain).  OPENCL, NO_MEMORY. */
choir_status device_copy(struct run *run, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                         cl_event *event_p);

#endif
