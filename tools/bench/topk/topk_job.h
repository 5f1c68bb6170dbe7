/* SPDX-License-Identifier: MIT */
/* A topk row as one rank sees it. */
#ifndef BENCH_TOPK_JOB_H
#define BENCH_TOPK_JOB_H

#include "bench/cases/job.h"
#include "bench/ways/contender.h"

#include <choir/topk.h>

/* Gradients a, -a, b, -b, in an order that looks random and is the same on all ranks: residuals then grow as they do of
 * gradients that have little to do with each other. */
enum { TOPK_GRADS = 4 };

struct topk_job {
	const struct job *job;
	size_t n; /* elements */
	double density;
	struct memory grad[TOPK_GRADS];
};

/* topk_data_make: gradient a of a rank (b: of rank + 1000).  topk_data_negate: in place.
 *   overlap: that share of the positions has the same value on all ranks.  values:
 * "normal", "heavy", or the path of a file of raw elements, read again from its start where it is short, at another
 * place on each rank.  NULL with errno; 0 if the file has no element. */
void *topk_data_make(choir_dtype dtype, size_t n, int rank, const char *values, double overlap);

void topk_data_negate(choir_dtype dtype, size_t n, void *values);

/* Means over the calls of a contender, but thresholds: those of the last one.  words outside the calls that find a
 * threshold anew, if there were others. */
struct topk_means {
	const char *algorithm;
	double select_us, exchange_us, merge_us, update_us, selected, pairs, imbalance, local, global, words, wire;
};

/* topk_ours_open: NULL if there is no memory.  topk_ours_forget: means begin anew. */
struct contender *topk_ours_open(const struct topk_job *topk, const char *algorithm);
void topk_ours_forget(struct contender *ours);
struct topk_means topk_ours_means(const struct contender *ours);

/* topk_formula: words that the algorithm's description says a rank receives, for k selected and `pairs` in the
 * result. */
double topk_formula(const char *algorithm, double n, double k, double pairs, int ranks);

#endif
