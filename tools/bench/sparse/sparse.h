/* SPDX-License-Identifier: MIT */
/* The sparse_allreduce rows. */
#ifndef BENCH_SPARSE_H
#define BENCH_SPARSE_H

#include "bench/run/run.h"

/* sparse_run: one row for each dtype and operator asked for.  Collective. */
void sparse_run(struct run *run);

#endif
