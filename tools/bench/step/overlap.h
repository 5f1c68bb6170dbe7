/* SPDX-License-Identifier: MIT */
/* Collectives beside work on the device: how much of them it hides. */
#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include "bench/run/run.h"

/* overlap_run: rows of one collective beside a kernel, called title (which outlives the results).
 * trainer_run: the row of --trainer. */
void overlap_run(struct run *run, const char *title, const struct collective_row *what);
void trainer_run(struct run *run);

#endif
