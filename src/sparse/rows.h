/* SPDX-License-Identifier: MIT */
/* Folding rows of values into rows of accumulators, on this thread.  One loop per (dtype, op), made from cl/ops.h. */
#ifndef SPARSE_ROWS_H
#define SPARSE_ROWS_H

#include "base/error.h"

#include <stdbool.h>

/* Accumulators: the dtype itself, except f32 for f16 and bf16, which round once at the end. */
struct rows {
	choir_dtype dtype;
	choir_op op;
	bool raw, final;
	int n_ranks;
	uint64_t width;
	/* the rows of accumulators; the same memory as the result where no accumulator is wider (dtype_acc_bytes) */
	void *acc;
};

/* A batch of rows: row i goes to acc row place[i], as its first one where first[i] is set.  The rows lie one after the
 * other from `from`, or, where row is not NULL, at row[i]. */
struct rows_batch {
	const uint64_t *place;
	const uint8_t *first;
	const unsigned char *from;
	const unsigned char *const *row;
	size_t n;
};

/* rows_fold: in the order of the batch.  Cannot fail for a supported (dtype, op). */
void rows_fold(const struct rows *rows, const struct rows_batch *batch);

/* rows_finish: count accumulator rows, finished and rounded, to `to` (which may be acc where accumulators are no
 * wider). */
void rows_finish(const struct rows *rows, void *to, uint64_t count);

#endif
