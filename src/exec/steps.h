/* SPDX-License-Identifier: MIT */
/* Runs the steps of a plan on one rank's memory. */
#ifndef EXEC_STEPS_H
#define EXEC_STEPS_H

#include "exec/run.h"

/* steps_make_room: the board's arrays, the scratch that run->plan needs, and room for shadows behind it. */
choir_status steps_make_room(struct run *run);

/* steps_begin: the board for run->plan: scratch, counters, the steps that need nothing. */
choir_status steps_begin(struct run *run);

/* steps_advance: starts what is ready, polls what waits.  *moved = true if anything did; *done = true after the last
 * step.  After a piece of a long host step, or messages of STEP_PIECE_BYTES (of a send or recv, if no other
 * call is in flight, as many as a ring holds), it returns: the board has paused then. */
choir_status steps_advance(struct run *run, bool *moved, bool *done);

/* steps_try: tries one step once, without the board: AWAIT, PUBLISH, a message, or a copy or reduction of at most
 * STEP_PIECE_BYTES.  The run may go on with the board (board_fill): steps_make_room was called for this plan. */
choir_status steps_try(struct run *run, uint32_t id, bool *done);

/* steps_free: all memory that the run has for its steps. */
void steps_free(struct run *run);

/* steps_reduce_by: a REDUCE by a kernel; *event_p is complete when the result is where the step says.  `reduction`
 * starts it, with room in src for the step's sources: steps_kernel_reduce that of a plan on the host,
 * steps_device_reduce that of one on the device.  A kernel that has to be built first is given up at the run's
 * deadline. steps_reduces_on_device: true for a step whose result stays in the device's memory (Note [own block] in
 * algo/reduce_scatter_slots.c).  In kernel_step.c, steps_device_reduce in device_step.c. */
struct reduce_operand;
typedef choir_status steps_reduction(struct run *run, const struct plan_step *step, struct reduce_operand *src,
                                     cl_event *event_p);
steps_reduction steps_kernel_reduce, steps_device_reduce;
choir_status steps_reduce_by(struct run *run, const struct plan_step *step, steps_reduction *reduction,
                             cl_event *event_p);
bool steps_reduces_on_device(const struct run *run, const struct plan_step *step);

/* steps_device_copy: a copy on the device; *event_p is complete when it is over.  In device_step.c. */
choir_status steps_device_copy(struct run *run, const struct plan_step *step, cl_event *event_p);

/* steps_host_copy, steps_host_reduce: the next piece of such a step, of at most STEP_PIECE_BYTES.  *done: that was
 * the last.  In host_step.c. */
choir_status steps_host_copy(struct run *run, const struct plan_step *step, bool *done);
choir_status steps_host_reduce(struct run *run, const struct plan_step *step, bool *done);

/* steps_is_staged: does the copy lead from or to a caller's buffer that only commands reach?  steps_stage_copy: starts
 * it; *event_p is complete when it is over, NULL if it is already: *done.  In stage_step.c. */
bool steps_is_staged(const struct run *run, const struct plan_step *step);
choir_status steps_stage_copy(struct run *run, const struct plan_step *step, cl_event *event_p, bool *done);

/* steps_queue_of: tells the commands under way apart: those of one number end in order, since they are on one of the
 * device's queues (those of a list are on the queue of kernels).  In stage_step.c. */
enum step_queue { STEP_QUEUE_NONE, STEP_QUEUE_KERNELS, STEP_QUEUE_READS, STEP_QUEUE_WRITES, STEP_QUEUES };
enum step_queue steps_queue_of(const struct run *run, uint32_t id);

/* steps_reached: has that rank of my node published the phase?  Compares what it calls on the way:
 * MISMATCH. */
choir_status steps_reached(struct run *run, int local_rank, uint32_t phase, bool *yes);

enum { STEP_PIECE_BYTES = 256 * 1024 };

#endif
