/* SPDX-License-Identifier: MIT */
/* The states of a run that have files of their own.  Each sets *moved when the run goes on to another one. */
#ifndef EXEC_RUN_STATES_H
#define EXEC_RUN_STATES_H

#include "exec/run.h"

/* In run_script.c: RUN_ASK, RUN_PREVIOUS_PLAN, RUN_JOB. */
choir_status run_ask_script(struct run *run, bool *moved);
choir_status run_await_previous_plan(struct run *run, bool *moved);
choir_status run_await_job(struct run *run, bool *moved);

/* In run_peers.c: RUN_PEER_BUFFERS is run_find_peer_buffers (run.h).  run_restart_as_script: ranks' counts differ. */
choir_status run_restart_as_script(struct run *run, bool *moved);

/* In run_map.c: RUN_MAP, RUN_UNMAP.  run_unmap: starts to give back what is mapped. */
choir_status run_map(struct run *run, bool *moved);
choir_status run_unmap(struct run *run);
choir_status run_await_unmap(struct run *run, bool *moved);

#endif
