/* SPDX-License-Identifier: MIT */
/* --tune: the constants of the sparse cost model, fitted to measured rows of --algorithm all. */
#ifndef BENCH_TUNE_COSTS_H
#define BENCH_TUNE_COSTS_H

#include "bench/report/result.h"

#include <stdio.h>

/* In the order of result_sparse.terms, as rules call them. */
extern const char *const tune_cost_names[SPARSE_TERMS];

/* tune_costs_fit: ns[] of the rows of one kind of link; before: as long as nothing is known, in ns. */
void tune_costs_fit(const struct results *results, const char *link, const double before[SPARSE_TERMS],
                    double ns[SPARSE_TERMS]);

/* tune_costs_write: "costs:" with a line for each kind of link among the rows; comm_json: of choir_comm_json, which
 * says what is in force. */
void tune_costs_write(FILE *to, const struct results *results, const char *comm_json);

#endif
