/* SPDX-License-Identifier: MIT */
/* --tune: measured rows of --algorithm all to rule text. */
#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "bench/report/result.h"

#include <stdbool.h>
#include <stdio.h>

/* Where the rows were measured. */
struct tune_place {
	int ranks, nodes;
	const char *device;
	int iterations;
};

/* tune_write: rules (docs/bench.md) to `to`.  Rows of a collective come by memory, then ascending bytes; rows of
 * symmetric memory give rules only for algorithms that need it; sparse rows none (tune_costs.h). */
void tune_write(FILE *to, const struct results *results, const struct tune_place *place);

#endif
