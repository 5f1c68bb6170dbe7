/* SPDX-License-Identifier: MIT */
/* Rank 0 says on standard error where the run is: on a terminal in one line, else, as under mpiexec, when nothing has
 * been printed for some seconds. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include "world.h"

void progress_show(const struct world *world, const char *label, int done, int all);
void progress_clear(const struct world *world);

#endif
