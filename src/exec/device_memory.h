/* SPDX-License-Identifier: MIT */
/* The memory on the device that a run has for itself, and what its peers may copy from there.  The driver only. */
#ifndef EXEC_DEVICE_MEMORY_H
#define EXEC_DEVICE_MEMORY_H

#include "exec/run.h"

/* device_memory_grow: at least that many bytes of one of run->device_memory's buffers, whose contents may be lost.
 * OPENCL.  device_memory_grow_unplaced: the same for a buffer that a command of another queue than dev_queue is the
 * first to write: dev_buffer_place's command would not be before that one. */
choir_status device_memory_grow(const struct run *run, struct device_buffer *buffer, uint64_t bytes);
choir_status device_memory_grow_unplaced(const struct run *run, struct device_buffer *buffer, uint64_t bytes);

/* device_memory_offer: makes the scratch and the slot of run->plan, a plan on the device, and offers the slot and SEND
 * to the peers until the run leaves its lane.  Returns the address for the lane; 0 without memory: the ranks then take
 * another plan. */
uint64_t device_memory_offer(struct run *run);

/* device_memory_room: DEVICE_ROOM_BYTES of memory of that kind, always the same.  OPENCL. */
enum { DEVICE_ROOM_BYTES = 2 << 20 };
choir_status device_memory_room(struct run *run, enum dev_kind kind, struct dev_bytes *out);

/* device_memory_pin_slots: before a copy between the device and a slot, of which the first long one pins the arena. */
void device_memory_pin_slots(struct choir_comm *comm, struct plan_ref ref, uint64_t bytes);

/* device_memory_free: releases it; the device is done with it. */
void device_memory_free(struct run *run);

#endif
