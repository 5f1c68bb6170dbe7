/* SPDX-License-Identifier: MIT */
/* Short plans within the node, step by step in their order: what the states of a run and the board of its steps (exec/steps.h) cost is more than what the steps do. */
#ifndef EXEC_WALK_H
#define EXEC_WALK_H

#include "exec/run.h"

/* walk_fits: is the plan of this run nothing but short host steps and flags? */
bool walk_fits(const struct run *run);

/* walk: takes a run that has its number, and whose plan it has run before, as far as it gets soon: to its end most likely, or to where run_advance goes on.  What is
 * wrong with a step is seen again there. */
void walk(struct run *run);

#endif
