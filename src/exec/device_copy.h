/* SPDX-License-Identifier: MIT */
/* Copies of plans on the device, between memory of any kinds. */
#ifndef EXEC_DEVICE_COPY_H
#define EXEC_DEVICE_COPY_H

#include "exec/run.h"

/* device_copy: starts a copy on the device's in-order queue.  event_p NULL: it starts with the next command that has an
 * event.  After a failure commands without an event may be under way (segments_drain).  OPENCL, NO_MEMORY. */
choir_status device_copy(struct run *run, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                         cl_event *event_p);

#endif
