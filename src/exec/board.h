/* SPDX-License-Identifier: MIT */
/* The board of a run: which steps of its plan may start, wait for something, are done.  The driver only. */
#ifndef EXEC_BOARD_H
#define EXEC_BOARD_H

#include "exec/run.h"

/* board_take: the arrays for run->plan; no step is under way.  board_give: the run is over, and the next one may have
 * them.  board_free_spares: those that no run has. */
choir_status board_take(struct run *run);
void board_give(struct run *run);
void board_free_spares(struct choir_comm *comm);

/* board_fill: the first `done` steps are done; those that depend on nothing else are ready.  After board_take. */
void board_fill(struct run *run, uint32_t done);

/* board_drain: waits for what the device still runs, so that memory may go. */
void board_drain(struct run *run);

#endif
