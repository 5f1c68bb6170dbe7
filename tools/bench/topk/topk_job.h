/* SPDX-License-Identifier: MIT */
/* A topk row as one rank sees it. */
#ifndef BENCH_TOPK_JOB_H
#define BENCH_TOPK_JOB_H

#include "bench/cases/job.h"
#include "bench/ways/contender.h"

#include <choir/topk.h>

/* A tensor's gradients are n elements of a longer array, from another place in each call, the same on all ranks: they
 * have nothing to do with each other, so residuals grow as those of noisy gradients do. */
enum { TOPK_STEP = 16, TOPK_MOST_SPARE = 1 << 20 }; /* elements */

struct topk_job {
	const struct job *job;
	size_t n; /* elements */
	double density;
	size_t spare; /* gradients begin at a multiple of TOPK_STEP, and no further than here */
	struct memory grads;
};

/* topk_data_make: n elements.  overlap: that share of the positions has the same value on all ranks.  values:
 * "normal", "heavy", or the path of a file of raw elements, read again from its start where it is short; at the other
 * positions each rank has elements from another place of it.  NULL with errno; 0 if the file has no element. */
void *topk_data_make(choir_dtype dtype, size_t n, int rank, const char *values, double overlap);

/* Of the timed calls of a contender: medians of the times, means of the rest; thresholds are those of the last call,
 * words outside the calls that find a threshold anew, if there were others. */
struct topk_means {
	const char *algorithm;
	double select_us, exchange_us, merge_us, update_us, selected, pairs, imbalance, local, global, words, wire;
};

/* topk_ours_open: NULL if there is no memory. */
struct contender *topk_ours_open(const struct topk_job *topk, const char *algorithm);
struct topk_means topk_ours_means(struct contender *ours);

/* topk_formula: words that the algorithm's description says a rank receives, for k selected and `pairs` in the
 * result. */
double topk_formula(const char *algorithm, double n, double k, double pairs, int ranks);

#endif
