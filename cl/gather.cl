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
	ulong16 from, part, length;
} places;

/* The argument has no arrays: llvmpipe's compiler crashes on one whose index is a variable. */
static ulong of_buffer(ulong16 all, uint k)
{
	const ulong each[16] = { all.s0, all.s1, all.s2, all.s3, all.s4, all.s5, all.s6, all.s7,
		                 all.s8, all.s9, all.sa, all.sb, all.sc, all.sd, all.se, all.sf };

	return each[k];
}

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
	const ulong to = whole_at + of_buffer(in.from, k), n = of_buffer(in.length, k);

	for (walk at = walk_of((uint)group_number() % n_groups, n_blocks, of_buffer(in.part, k)); at.i < at.end;
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
	const ulong start = whole_at + of_buffer(in.from, k), n = of_buffer(in.length, k);

	for (walk at = walk_of((uint)group_number() % n_groups, n_blocks, of_buffer(in.part, k)); at.i < at.end;
	     at = walk_on(at))
		if (at.i < n)
			buffer[at.i] = whole[start + at.row * width + at.column];
}
