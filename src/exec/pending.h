/* SPDX-License-Identifier: MIT */
/* The work of the busy comms, and the events that would end a wait for it.  Six functions ask whether any is left, and
 * each counts other things:
 *
 *                          runs not completed  sends in flight   threads inside calls
 *   engine_has_work        all but in a job    -                 -
 *   !engine_idle           all                 -                 -
 *   pending_any            all but in a job    the messenger's   -
 *   comm_list_next_busy    all                 the messenger's   -
 *   in_calls               all                 -                 all
 *   in_calls_or_sending    all                 the rank's        all
 *
 * The last two are in drain.c. */
#ifndef EXEC_PENDING_H
#define EXEC_PENDING_H

#include "base/wait.h"
#include "exec/comm.h"

/* pending_any: is there anything to drive?  Under comm_list_lock. */
bool pending_any(void);

/* pending_why: the same, with the lock not held; notes in *why how to wait for it. */
bool pending_why(struct wait_for *why);

/* pending_note_device: notes in *why how to wait for the commands of the comm's device that were under way when it was
 * last driven; nothing if none were. */
void pending_note_device(struct wait_for *why, const struct choir_comm *comm);

/* pending_polled: has a busy comm messages that must be polled? */
bool pending_polled(void);

/* pending_process: the process whose steps alone can end a sleep; BELL_ANY if several comms have something to do. */
int64_t pending_process(void);

/* pending_ring_at_ends: will the ends of all commands that are under way ring the doorbell?  False too if another
 * thread drives one of the comms. */
bool pending_ring_at_ends(void);

#endif
