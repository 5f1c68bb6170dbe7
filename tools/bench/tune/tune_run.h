/* SPDX-License-Identifier: MIT */
/* --tune: measures every algorithm, in symmetric memory where there is one node, then in that of --memory, and writes
 * rules. */
#ifndef BENCH_TUNE_RUN_H
#define BENCH_TUNE_RUN_H

#include "bench/run/run.h"

/* tune_run: an exit status.  Collective; rank 0 writes. */
int tune_run(struct run *run);

#endif
