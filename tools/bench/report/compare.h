/* SPDX-License-Identifier: MIT */
/* --compare: two runs, row against row. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <jansson.h>
#include <stdio.h>

/* compare_runs: prints rows that both runs have (same collective, bytes, dtype, op, memory, inplace, fresh, in_flight,
 * tensors and workload; where they stand beside rows of other algorithms, the same algorithm) to `to`; returns the
 * number whose p50 grew by more than fail_over, -1 if none was found in both. */
int compare_runs(const json_t *old_run, const json_t *new_run, double fail_over, FILE *to);

/* compare_files: the same from files, as an exit status. */
int compare_files(const char *old_path, const char *new_path, double fail_over);

#endif
