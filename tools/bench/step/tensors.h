/* SPDX-License-Identifier: MIT */
/* Allreduce of many tensors. */
#ifndef BENCH_TENSORS_H
#define BENCH_TENSORS_H

#include "bench/run/run.h"

/* tensors_run: the row of --tensors. */
void tensors_run(struct run *run);

#endif
