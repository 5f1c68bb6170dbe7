/* SPDX-License-Identifier: MIT */
/* Rows between a list and a dense tensor.
 * Options: INDEX = int or long, the type of the indices; VALUE = uchar, ushort, uint or ulong, of an element's width. */
#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef VALUE
#error "VALUE: uchar, ushort, uint or ulong"
#endif

/* One item an element (row, column); neighbours touch neighbouring columns.  shift = what to add to a stored index to get its row in dense; *_at: elements
 * to skip.  Indices are distinct where rows are written. */
__kernel void scatter(__global const INDEX *ind, ulong ind_at, __global const VALUE *rows, ulong rows_at, ulong n, ulong width, long shift,
                      __global VALUE *dense, ulong dense_at)
{
	const ulong i = get_global_id(0), row = i / width;

	if (row < n)
		dense[dense_at + (ulong)((long)ind[ind_at + row] + shift) * width + (i - row * width)] = rows[rows_at + i];
}

__kernel void gather(__global const INDEX *ind, ulong ind_at, __global const VALUE *dense, ulong dense_at, ulong n, ulong width, long shift,
                     __global VALUE *rows, ulong rows_at)
{
	const ulong i = get_global_id(0), row = i / width;

	if (row < n)
		rows[rows_at + i] = dense[dense_at + (ulong)((long)ind[ind_at + row] + shift) * width + (i - row * width)];
}

/* Zeros at the listed rows: what is left of a residual once they were used. */
__kernel void scatter_zero(__global const INDEX *ind, ulong ind_at, ulong n, ulong width, long shift, __global VALUE *dense, ulong dense_at)
{
	const ulong i = get_global_id(0), row = i / width;

	if (row < n)
		dense[dense_at + (ulong)((long)ind[ind_at + row] + shift) * width + (i - row * width)] = 0;
}
