/* SPDX-License-Identifier: MIT */
#include "sparse/rows.h"

#include "sparse/each_cell.h"

#ifdef __clang__
#define ROWS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ROWS_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define LOOPS "sparse/rows_op.inc"
#include "sparse/each_dtype.inc"

struct rows_loops {
	void (*rows)(const struct rows *rows, const struct rows_batch *batch);
	void (*scalars)(const struct rows *rows, const struct rows_batch *batch);
	void (*finish)(const struct rows *rows, void *to, size_t n);
};

#define CELL(dtype, op) [CHOIR_OP_##op] = { op_##dtype##_##op##_fold_rows, op_##dtype##_##op##_fold_scalars, op_##dtype##_##op##_finish_rows }

static const struct rows_loops loops[EACH_DTYPES][EACH_OPS] = EACH_CELL;

size_t rows_acc_bytes(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 ? sizeof(float) : choir_dtype_bytes(dtype);
}

void rows_fold(const struct rows *rows, const struct rows_batch *batch)
{
	const struct rows_loops *loop = &loops[rows->dtype][rows->op];

	if (rows->width == 1 && batch->row == NULL)
		loop->scalars(rows, batch);
	else
		loop->rows(rows, batch);
}

void rows_finish(const struct rows *rows, void *to, uint64_t count)
{
	bool changes = rows->final && rows->op == CHOIR_OP_MEAN;

	if (rows->acc != to || changes)
		loops[rows->dtype][rows->op].finish(rows, to, count * rows->width);
}
