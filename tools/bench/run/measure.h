/* SPDX-License-Identifier: MIT */
/* Times several contenders in turns, and checks their data in between. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench/ways/contender.h"
#include "bench/ranks/world.h"

struct measure_plan {
	struct world *world;
	int iterations, warmup, check_every;
	int n_ours;        /* of the contenders, the first: checked every so often, the others once */
	bool batches;      /* calls too short for the clock are timed by the batch */
	const char *label; /* for the progress line */
};

struct series {
	double first_us;         /* the very first call */
	double *us;              /* [iterations] of one collective, the slowest rank's; the caller's array */
	uint64_t wrong, checked; /* elements wrong on all ranks; calls checked */
};

/* measure: fills series[k] for contenders[k].  Collective; a call that fails ends the program. */
void measure(const struct measure_plan *plan, struct contender *const *contenders, struct series *series, int n);

#endif
