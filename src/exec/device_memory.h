/* SPDX-License-Identifier: MIT */
/* The memory on the device that a run has for itself, and what its peers may copy from there.  The driver only. */
#ifndef EXEC_DEVICE_MEMORY_H
#define EXEC_DEVICE_MEMORY_H

#include "exec/run.h"

/* device_memory_scratch: at least that many bytes of scratch, whose contents may be lost.  OPENCL. */
choir_status device_memory_scratch(struct run *run, uint64_t bytes);

/* device_memory_list: the same of run->device_memory.list: exec/gathered.h. */
choir_status device_memory_list(struct run *run, uint64_t bytes);

/* device_memory_offer: makes the scratch and the slot of run->plan, a plan on the device, and offers the slot and SEND
 * to the peers until the run leaves its lane.  Returns the address for the lane; 0 without memory: the ranks then take
 * another plan. */
uint64_t device_memory_offer(struct run *run);

/* device_memory_room: DEVICE_ROOM_BYTES of memory of that kind, always the same.  device_memory_sent: a cl_mem of at
 * least that many bytes for what kernels read of SEND, whose contents may be lost.  OPENCL. */
enum { DEVICE_ROOM_BYTES = 2 << 20 };
choir_status device_memory_room(struct run *run, enum dev_kind kind, struct dev_bytes *out);
choir_status device_memory_sent(struct run *run, uint64_t bytes, cl_mem *mem_p);

/* device_memory_free: releases it; the device is done with it. */
void device_memory_free(struct run *run);

#endif
