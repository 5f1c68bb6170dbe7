/* SPDX-License-Identifier: MIT */
#include "sparse/rows.h"

#define ROWS_DTYPES 13
#define ROWS_OPS 12

#ifdef __clang__
#define ROWS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ROWS_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define DTYPE I8
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE U8
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE I16
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE U16
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE I32
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE U32
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE I64
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE U64
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE F16
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE BF16
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE F32
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE F64
#include "sparse/rows_dtype.inc"
#undef DTYPE
#define DTYPE BOOL
#include "sparse/rows_dtype.inc"
#undef DTYPE

struct rows_loops {
	void (*rows)(const struct rows *rows, const struct rows_batch *batch);
	void (*scalars)(const struct rows *rows, const struct rows_batch *batch);
	void (*finish)(const struct rows *rows, void *to, size_t n);
};

#define CELL(dtype, op) [CHOIR_OP_##op] = { op_##dtype##_##op##_fold_rows, op_##dtype##_##op##_fold_scalars, op_##dtype##_##op##_finish_rows }
#define CELLS(dtype)                                                                                                               \
	CELL(dtype, SUM), CELL(dtype, PROD), CELL(dtype, MIN), CELL(dtype, MAX), CELL(dtype, MEAN), CELL(dtype, SQUARE_ADD)
#define CELLS_BITS(dtype) CELLS(dtype), CELL(dtype, BAND), CELL(dtype, BOR), CELL(dtype, BXOR)

static const struct rows_loops loops[ROWS_DTYPES][ROWS_OPS] = {
	[CHOIR_I8] = { CELLS_BITS(I8) },
	[CHOIR_U8] = { CELLS_BITS(U8) },
	[CHOIR_I16] = { CELLS_BITS(I16) },
	[CHOIR_U16] = { CELLS_BITS(U16) },
	[CHOIR_I32] = { CELLS_BITS(I32) },
	[CHOIR_U32] = { CELLS_BITS(U32) },
	[CHOIR_I64] = { CELLS_BITS(I64) },
	[CHOIR_U64] = { CELLS_BITS(U64) },
	[CHOIR_F16] = { CELLS(F16) },
	[CHOIR_BF16] = { CELLS(BF16) },
	[CHOIR_F32] = { CELLS(F32) },
	[CHOIR_F64] = { CELLS(F64) },
	[CHOIR_BOOL] = { CELLS_BITS(BOOL), CELL(BOOL, LOGICAL_AND), CELL(BOOL, LOGICAL_OR) },
};

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
