/* SPDX-License-Identifier: MIT */
/* Copies between device memory of different kinds, as a kernel. */
#ifndef KERN_COPY_H
#define KERN_COPY_H

#include "dev/dev.h"

/* copy_kernel_start: from the beginning of one room of the library's (dev_room_create) to that of another, up to the
 * next multiple of 16 bytes.  Enqueues on the device's internal queue; the first use blocks for the build. */
choir_status copy_kernel_start(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                               cl_event *event_p);

#endif
