/* SPDX-License-Identifier: MIT */
/* The first gear of inline execution: the steps of a short part, one after the other in the order of its plan, by the
 * addresses of its operand table.  The states of a run and the board of its steps would cost more than the steps do. */
#ifndef EXEC_IN_ORDER_H
#define EXEC_IN_ORDER_H

#include "exec/run.h"

/* run_in_order: executes a run that has its number and whose part says in_order (src/api/dense.c; the plan of a send or
 * recv then has one step), as far as it gets soon: to its end most likely, else to where run_advance goes on:
 *   RUN_DEPS                      a send or recv
 *   RUN_ADMIT, RUN_PEER_BUFFERS   a collective, with nothing else done
 *   RUN_MAP                       with another plan (run_peers.c)
 *   RUN_ASK                       it goes on as a script
 *   RUN_STEPS                     its board is filled, nt and addresses are as nt_plan_begin and run_map leave them
 *   RUN_UNMAP                     all steps are done, and the last comparison of the records has yet to fail
 * run->state is set on return, not at each step.  A step that fails here fails again there, with its sentence. */
void run_in_order(struct run *run);

/* run_in_shadows: the same for a part of IN_ORDER_SHADOWS: a command fills the shadows before, another one empties them
 * after (exec/shadow.h). */
void run_in_shadows(struct run *run);

#endif
