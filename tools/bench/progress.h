/* SPDX-License-Identifier: MIT */
/* A line on standard error that says where the run is; rank 0 only, and only on a terminal. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include "world.h"

void progress_show(const struct world *world, const char *label, int done, int all);
void progress_clear(const struct world *world);

#endif
