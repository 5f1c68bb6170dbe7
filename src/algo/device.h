/* SPDX-License-Identifier: MIT */
/* Note [device plans].  Where the devices of a node's ranks share a context, copies lead from one rank's cl_mem, SVM
 * or USM to another's and kernels reduce, so no byte goes through host memory.  SCRATCH and SLOT are device memory of
 * the run.
 *
 *   Only the queue of a rank writes that rank's memory; a peer's memory is only copied from.  So no driver has two
 *   newest versions of a buffer.
 *   A kernel reads SCRATCH and SEND and writes SCRATCH or SLOT: a driver may move all of a kernel's buffers, so a
 *   kernel's result is never where a peer reads meanwhile, nor in a caller's buffer.
 *   A list of buffers is only copied from and to, a command a segment: kernels reduce copies in SCRATCH.
 *   SCRATCH and SLOT are placed on their rank's device when they are made (dev_buffer_place).  The callers' buffers are
 *   where their programs used them last, and no command moves a whole one: a copy takes the bytes that it needs.
 *   A flag goes up when the host has seen that the commands before it are over.
 *
 * The plans begin and end as in Note [direct]. */
#ifndef ALGO_DEVICE_H
#define ALGO_DEVICE_H

#include "algo/algo.h"

const char *device_unfit(const struct algo_in *in);

/* device_parts: how many parts of the scratch device_reduce_part takes. */
uint64_t device_parts(const struct algo_in *in);

/* device_reduce_part: fetches len bytes at off of the SENDs of the ranks below end, and reduces them, in rank order, to
 * `to`; of premul_sum, the products of these SENDs with their ranks' factors.  scratch: room for device_parts times len
 * bytes.  after: the step behind which the scratch and `to` are free again.  Returns the reduction. */
plan_id device_reduce_part(const struct algo_in *in, struct plan *plan, int end, uint64_t scratch, uint64_t off,
                           uint64_t len, struct plan_ref to, plan_id after);

/* device_plan: makes a finished plan of copies between buffers one of device memory; returns st. */
choir_status device_plan(choir_status st, struct plan *plan);

/* device_end: publishes a phase after all steps so far, awaits it of all ranks, and finishes the plan. */
choir_status device_end(struct plan *plan, uint32_t phase);

#endif
