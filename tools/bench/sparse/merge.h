/* SPDX-License-Identifier: MIT */
/* A good host merge of gathered rows, as a careful user without choir would write it: the yardstick of sparse_allreduce
 * --vs mpi. */
#ifndef BENCH_MERGE_H
#define BENCH_MERGE_H

#include <choir/types.h>

#include <stdbool.h>

struct merge {
	choir_dtype index_dtype, dtype; /* i32 or i64; f32 or f64 */
	size_t width;
	size_t room;      /* rows that may be given at most; set by init */
	uint64_t *bitmap; /* by index, as long as indices are dense enough */
	uint32_t *before;
	size_t words;
	uint64_t *keys[2]; /* else (index, row) sorted by index */
	uint32_t *rows[2];
};

/* merge_init: room for `rows` rows of indices below range.  merge_run does not allocate.  false if there is no
 * memory. */
bool merge_init(struct merge *merge, size_t rows, size_t range);
void merge_fini(struct merge *merge);

/* merge_sum: the rows' distinct indices ascending to out_ind, the sums of their rows to out_val; returns how many. */
size_t merge_sum(struct merge *merge, const void *ind, const void *val, size_t rows, void *out_ind, void *out_val);

#endif
