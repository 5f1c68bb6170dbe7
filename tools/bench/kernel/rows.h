/* SPDX-License-Identifier: MIT */
/* All rows of a run. */
#ifndef BENCH_KERNEL_ROWS_H
#define BENCH_KERNEL_ROWS_H

#include "bench/run/run.h"

/* rows_names_exist: whether all words are names of kernels.  says: tells what is wrong. */
bool rows_names_exist(const struct args *args, bool says);

/* rows_run: the exit status of the data alone, usage if nothing could be run.  Collective. */
int rows_run(struct run *run);

#endif
