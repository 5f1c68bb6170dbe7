/* SPDX-License-Identifier: MIT */
/* The topk rows: gradients by their largest entries, an algorithm or all of them side by side. */
#ifndef BENCH_TOPK_H
#define BENCH_TOPK_H

#include "bench/run/run.h"

/* topk_run: a row for each dtype, density and algorithm asked for.  Collective. */
void topk_run(struct run *run);

#endif
