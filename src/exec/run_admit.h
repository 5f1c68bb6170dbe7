/* SPDX-License-Identifier: MIT */
/* The state in which a run takes its lane. */
#ifndef EXEC_RUN_ADMIT_H
#define EXEC_RUN_ADMIT_H

#include "exec/run.h"

/* run_admit: once the lane is free: announces the call there, and goes on to what comes next.  A state of
 * run_advance. */
choir_status run_admit(struct run *run, bool *moved);

/* run_raise_flag: raises the flag of a run whose flag is not raised yet.  Note [receivers raise no flag]. */
void run_raise_flag(struct run *run);

#endif
