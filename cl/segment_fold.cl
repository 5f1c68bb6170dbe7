/* SPDX-License-Identifier: MIT */
/* The rows of each segment folded into one row, in the order of the sorted positions, which is the order in which they came.
 * Options: DTYPE, OP (ops.h); RAW = 1 if rows are original values (square_add squares them), 0 if partial results; FINAL = 1 to apply the final
 * expression. */
#include "ops.h"

#ifndef RAW
#error "RAW: 0 or 1"
#endif
#ifndef FINAL
#error "FINAL: 0 or 1"
#endif

/* One item an element (segment, column) of the result; neighbours read neighbouring columns.  rows_at: elements to skip in rows.
 * start[s] .. start[s + 1] - 1 are segment s in at. */
__kernel void segment_fold(__global const ELEM *rows, ulong rows_at, __global const uint *at, __global const uint *start, ulong count, ulong width,
                           int n_ranks, __global ELEM *out)
{
	const ulong i = get_global_id(0);

	if (i >= count * width)
		return;

	const ulong s = i / width, column = i - s * width;
	const uint end = start[s + 1];
	uint k = start[s];
	ACC acc = OPS(load)(rows, rows_at + at[k] * width + column);

	if (RAW)
		acc = OPS(raw)(acc, 1);
	for (k++; k < end; k++) {
		ACC x = OPS(load)(rows, rows_at + at[k] * width + column);

		if (RAW)
			x = OPS(raw)(x, 1);
		acc = OPS(fold)(acc, x);
	}
	if (FINAL)
		acc = OPS(final)(acc, n_ranks);
	OPS(store)(out, i, acc);
}
