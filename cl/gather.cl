/* SPDX-License-Identifier: MIT */
/* Up to 16 buffers into one, and back.  The one is n_blocks blocks of `width` elements; buffer k has in each of them
 * part[k] elements from from[k] on, and its parts stand one behind another.  A buffer's length is less than its parts
 * where the last ones are padded: they are gathered as zeros, and not scattered.
 * Options: GROUP, SPAN (walk.h); VALUE = uchar, ushort, uint, ulong or ulong2.
 * n_groups: the groups of a buffer, enough for the longest; group g is at buffer g / n_groups. */
#include "walk.h"

#ifndef VALUE
#error "VALUE: uchar, ushort, uint, ulong or ulong2"
#endif

typedef struct {
	ulong from[16], part[16], length[16];
} places;

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gather_buffers(__global const VALUE *b0, __global const VALUE *b1, __global const VALUE *b2,
                    __global const VALUE *b3, __global const VALUE *b4, __global const VALUE *b5,
                    __global const VALUE *b6, __global const VALUE *b7, __global const VALUE *b8,
                    __global const VALUE *b9, __global const VALUE *b10, __global const VALUE *b11,
                    __global const VALUE *b12, __global const VALUE *b13, __global const VALUE *b14,
                    __global const VALUE *b15, places in, ulong n_blocks,
                    ulong width, uint n_groups, __global VALUE *whole, ulong whole_at)
{
	__global const VALUE *const buffers[16] = { b0, b1, b2,  b3,  b4,  b5,  b6,  b7,
		                                    b8, b9, b10, b11, b12, b13, b14, b15 };
	const uint k = (uint)group_number() / n_groups;
	__global const VALUE *const buffer = buffers[k];
	const ulong to = whole_at + in.from[k], n = in.length[k];

	for (walk at = walk_of((uint)group_number() % n_groups, n_blocks, in.part[k]); at.i < at.end;
	     at = walk_on(at))
		whole[to + at.row * width + at.column] = at.i < n ? buffer[at.i] : (VALUE)0;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scatter_buffers(__global VALUE *b0, __global VALUE *b1, __global VALUE *b2, __global VALUE *b3,
                     __global VALUE *b4, __global VALUE *b5, __global VALUE *b6, __global VALUE *b7,
                     __global VALUE *b8, __global VALUE *b9, __global VALUE *b10, __global VALUE *b11,
                     __global VALUE *b12, __global VALUE *b13, __global VALUE *b14, __global VALUE *b15,
                     places in, ulong n_blocks, ulong width, uint n_groups,
                     __global const VALUE *whole, ulong whole_at)
{
	__global VALUE *const buffers[16] = { b0, b1, b2,  b3,  b4,  b5,  b6,  b7,
		                              b8, b9, b10, b11, b12, b13, b14, b15 };
	const uint k = (uint)group_number() / n_groups;
	__global VALUE *const buffer = buffers[k];
	const ulong start = whole_at + in.from[k], n = in.length[k];

	for (walk at = walk_of((uint)group_number() % n_groups, n_blocks, in.part[k]); at.i < at.end;
	     at = walk_on(at))
		if (at.i < n)
			buffer[at.i] = whole[start + at.row * width + at.column];
}
