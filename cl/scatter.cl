/* SPDX-License-Identifier: MIT */
/* Rows between a list and a dense tensor.
 * Options: GROUP, SPAN (walk.h); INDEX = int or long, the type of the indices; VALUE = uchar, ushort, uint, ulong or
 * ulong2, of an element's width. */
#include "walk.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef VALUE
#error "VALUE: uchar, ushort, uint or ulong"
#endif

/* shift: a stored index + shift is its row in dense; *_at: elements to skip.  Where dense is written the indices are
 * distinct. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scatter(__global const INDEX *ind, ulong ind_at, __global const VALUE *rows, ulong rows_at, ulong n, ulong width,
             long shift, __global VALUE *dense, ulong dense_at)
{
	for (walk at = walk_from(n, width); at.i < at.end; at = walk_on(at))
		dense[dense_at + (ulong)((long)ind[ind_at + at.row] + shift) * width + at.column] =
		    rows[rows_at + at.i];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gather(__global const INDEX *ind, ulong ind_at, __global const VALUE *dense, ulong dense_at, ulong n, ulong width,
            long shift, __global VALUE *rows, ulong rows_at)
{
	for (walk at = walk_from(n, width); at.i < at.end; at = walk_on(at))
		rows[rows_at + at.i] =
		    dense[dense_at + (ulong)((long)ind[ind_at + at.row] + shift) * width + at.column];
}

/* Writes zeros to the listed rows of dense. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scatter_zero(__global const INDEX *ind, ulong ind_at, ulong n, ulong width, long shift, __global VALUE *dense,
                  ulong dense_at)
{
	for (walk at = walk_from(n, width); at.i < at.end; at = walk_on(at))
		dense[dense_at + (ulong)((long)ind[ind_at + at.row] + shift) * width + at.column] = 0;
}
