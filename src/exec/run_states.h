/* SPDX-License-Identifier: MIT */
/* The states of a run that have files of their own: Note [states of a run] in run.h.  Each sets *moved when the run
 * goes on to another one. */
#ifndef EXEC_RUN_STATES_H
#define EXEC_RUN_STATES_H

#include "exec/run.h"

/* In run_admit.c.  RUN_ADMIT: once the lane is free, announces the call there.
 * run_raise_flag: raises the flag of a run that owes it: Note [receivers raise no flag] there.
 * run_held_up: is that rank of the node still at a call that has to be over before this one enters its lane? */
choir_status run_admit(struct run *run, bool *moved);
void run_raise_flag(struct run *run);
bool run_held_up(const struct run *run, int local_rank);

/* In run_peers.c.  RUN_PEER_BUFFERS: goes on to RUN_MAP once all ranks of the node are there, with another plan if a
 * buffer is out of reach, or to RUN_ASK by run_restart_as_script: ranks' counts differ. */
choir_status run_find_peer_buffers(struct run *run, bool *moved);
choir_status run_restart_as_script(struct run *run, bool *moved);

/* In run_script.c: RUN_ASK, RUN_PREVIOUS_PLAN, RUN_JOB. */
choir_status run_ask_script(struct run *run, bool *moved);
choir_status run_await_previous_plan(struct run *run, bool *moved);
choir_status run_await_job(struct run *run, bool *moved);

/* In run_map.c: RUN_MAP, RUN_UNMAP.  run_unmap: starts to give back what is mapped. */
choir_status run_map(struct run *run, bool *moved);
choir_status run_unmap(struct run *run);
choir_status run_await_unmap(struct run *run, bool *moved);

#endif
