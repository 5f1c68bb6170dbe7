/* SPDX-License-Identifier: MIT */
/* The table of row loops: one copy a CPU level, from the same source and so with the same bits. */
#ifndef SPARSE_ROWS_LOOPS_H
#define SPARSE_ROWS_LOOPS_H

#include "base/dtype.h"
#include "sparse/rows.h"

/* One (dtype, op). */
struct rows_loops {
	void (*rows)(const struct rows *rows, const struct rows_batch *batch);
	void (*scalars)(const struct rows *rows, const struct rows_batch *batch);
	void (*finish)(const struct rows *rows, void *to, size_t n);
};

extern const struct rows_loops rows_base_loops[N_DTYPES][N_OPS];
extern const struct rows_loops rows_avx2_loops[N_DTYPES][N_OPS]; /* x86-64 only */

#endif
