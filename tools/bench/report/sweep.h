/* SPDX-License-Identifier: MIT */
/* Sparse rows of several densities: how long each algorithm and each way took at each, and where the fastest of them
 * changes.  Pure. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "bench/args/args.h"
#include "result.h"

struct sweep_line {
	char name[56]; /* an algorithm, "choir" where that is not said, or "vs " and a way */
	bool is_vs;
	double us[ARGS_MAX_LIST]; /* p50; 0 = it did not run there */
};

/* Between two densities the times are taken to be straight lines on logarithmic paper. */
struct sweep_crossing {
	double density, us;
	int from, to; /* lines */
};

struct sweep {
	double density[ARGS_MAX_LIST]; /* ascending */
	int n;
	struct sweep_line line[MAX_CONTENDERS];
	int n_lines;
	struct sweep_crossing crossing[ARGS_MAX_LIST];
	int n_crossings;
	int chosen[ARGS_MAX_LIST]; /* the line that the model took, -1 = unknown */
};

/* sweep_of: of the rows that are like this one in all but density and algorithm.  false if there are fewer than two
 * densities. */
bool sweep_of(const struct results *results, const struct result *like, struct sweep *out);

#endif
