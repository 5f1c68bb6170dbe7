/* SPDX-License-Identifier: MIT */
/* Merges lists of distinct indices.  bitmap.cl numbers the union of the indices; then one launch for each list folds
 * its rows into the result.  No two items of a launch write the same row, so the order of folding is that of the
 * launches.
 * Options: DTYPE, OP (ops.h); GROUP, SPAN (walk.h); INDEX = int or long, the type of the indices; FINAL = 1 to apply
 * the final expression in merge_finish. */
#include "ops.h"

#include "walk.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef FINAL
#error "FINAL: 0 or 1"
#endif

/* before[w]: bits of the union below word w.  seen: the indices of earlier lists; elsewhere acc is not yet written.
 * shift: the bit of a stored index is the index + shift.  *_at: elements to skip. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge_fold(__global const INDEX *ind, ulong ind_at, __global const ELEM *rows, ulong rows_at, ulong n, ulong width,
                long shift, __global const uint *bitmap, __global const uint *before, __global const uint *seen,
                __global ACC *acc)
{
	for (walk at = walk_from(n, width); at.i < at.end; at = walk_on(at)) {
		const ulong x = (ulong)((long)ind[ind_at + at.row] + shift), w = x / 32;
		const uint bit = 1u << (x % 32);
		const ulong to = (ulong)(before[w] + popcount(bitmap[w] & (bit - 1))) * width + at.column;
		const ACC here = OPS(load)(rows, rows_at + at.i);

		acc[to] = (seen[w] & bit) != 0 ? OPS(fold)(acc[to], here) : here;
	}
}

static void finish(__global const ACC *acc, ulong n, int n_ranks, __global ELEM *out)
{
	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at)) {
		ACC x = acc[at.i];

		if (FINAL)
			x = OPS(final)(x, n_ranks);
		OPS(store)(out, at.i, x);
	}
}

/* Stores n accumulators as elements; out may be acc where both have one type. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge_finish(__global const ACC *acc, ulong n, int n_ranks, __global ELEM *out)
{
	finish(acc, n, n_ranks, out);
}

/* The same of *rows rows. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge_finish_rows(__global const ACC *acc, __global const uint *rows, ulong width, int n_ranks,
                       __global ELEM *out)
{
	finish(acc, *rows * width, n_ranks, out);
}
