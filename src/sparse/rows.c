/* SPDX-License-Identifier: MIT */
#include "sparse/rows.h"

#include "sparse/rows_loops.h"

static const struct rows_loops *loops_of(const struct rows *rows)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
		return &rows_avx2_loops[rows->dtype][rows->op];
#endif
	return &rows_base_loops[rows->dtype][rows->op];
}

size_t rows_acc_bytes(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 ? sizeof(float) : choir_dtype_bytes(dtype);
}

void rows_fold(const struct rows *rows, const struct rows_batch *batch)
{
	const struct rows_loops *loop = loops_of(rows);

	if (rows->width == 1 && batch->row == NULL)
		loop->scalars(rows, batch);
	else
		loop->rows(rows, batch);
}

void rows_finish(const struct rows *rows, void *to, uint64_t count)
{
	bool changes = rows->final && rows->op == CHOIR_OP_MEAN;

	if (rows->acc != to || changes)
		loops_of(rows)->finish(rows, to, count * rows->width);
}
