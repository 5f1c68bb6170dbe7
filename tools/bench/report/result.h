/* SPDX-License-Identifier: MIT */
/* One row of the report. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "bench/ways/contender.h"
#include "lib/stats.h"

#include <choir/types.h>

#include <stddef.h>

struct result_vs {
	const char *name;
	bool ran;             /* else the rest is 0 */
	double p50_us, ratio; /* theirs / ours: above 1 we win */
};

/* Of choir_sparse_stats: messages, bytes received, bytes copied, pairs placed, bytes folded. */
enum { SPARSE_TERMS = 5 };

/* What a sparse row has beside. */
struct result_sparse {
	const char *index, *distribution;
	char workload[64];                      /* flags that bend the distribution, "" for none */
	size_t rows_in, rows_out, width, range; /* rows_in: of a rank, on average */
	double density_in, density_out;
	double predicted_us, imbalance; /* as the library tells */
	uint64_t rows_merged;
	const char *link; /* what predicted_us is made of: constants of this kind of link times ... */
	double terms[SPARSE_TERMS];
};

/* What a topk row has beside: means over all calls; times are the slowest rank's, words the busiest one's. */
struct result_topk {
	const char *values;                               /* "normal", "heavy" or a file */
	const char *form;                                 /* of the result: "dense", "pairs" or "both" */
	double overlap, density, density_in, density_out; /* asked for; selected; in the result */
	double select_us, exchange_us, merge_us, update_us;
	double words, formula; /* received; what the algorithm's description says */
	double local, global, imbalance;
};

/* What a row of a kernel has beside. */
struct result_kernel {
	const char *index, *distribution, *unit; /* unit: of what there are so many: pairs or elements */
	size_t items, range, width, lists, items_out;
	uint64_t moved_bytes; /* that must move */
	double items_per_s;
};

/* What a row of overlap or of a trainer has beside. */
struct result_overlap {
	double compute_us, alone_us; /* the kernels alone, the collectives alone */
	double exposed_us;           /* what the collectives added to the kernels' time */
	double hidden;               /* share of the shorter of the two that cost no time */
};

enum result_kind { RESULT_DENSE, RESULT_SPARSE, RESULT_OVERLAP, RESULT_KERNEL, RESULT_TOPK };

struct result {
	const char *collective;
	size_t bytes, count, rule_bytes; /* rule: what rules compare (job.h) */
	const char *dtype, *op;          /* op "none" where nothing is reduced */
	const char *memory;
	bool in_place, fresh;
	char algorithm[48];
	bool among_all, chosen; /* one of several rows of the job; the one whose algorithm the rules take */
	int in_flight;
	int tensors; /* of one measured call; 0 = it is one call */
	struct stats us;
	double first_us;
	double algbw_GBps, busbw_GBps;
	uint64_t wrong, checked, wire_bytes; /* wire: to other nodes, the rank that sends most */
	struct result_vs vs[VS_MAX];
	int n_vs;
	enum result_kind kind;
	struct result_sparse sparse;
	struct result_overlap overlap;
	struct result_kernel kernel;
	struct result_topk topk;
};

struct results {
	struct result *rows;
	size_t n, room;
};

/* results_add: copies the row; aborts if there is no memory for a few hundred bytes. */
void results_add(struct results *results, const struct result *row);
void results_fini(struct results *results);

/* result_rate: GB/s of that many bytes in us; 0 for no time or no bytes. */
double result_rate(size_t bytes, double us);

#endif
