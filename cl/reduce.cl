/* SPDX-License-Identifier: MIT */
/* Reductions of several sources into one destination.
 *
 * Parameters: DTYPE, OP (see ops.h, which checks them); WIDTH = elements of a work-item, 1 to 16; 1 unless it is given.
 *
 * One work-item for each WIDTH elements: CPU runtimes make a work-group a loop over one contiguous span, and on GPUs
 * neighbouring items share cache lines.  An item loads all its elements before it stores one, so that a compiler may
 * make one load of several.  Items beyond count do nothing.  No barrier: an item reads and writes only its own elements
 * of each array, which is also why dst may be one of the sources. */
#include "ops.h"

#ifndef WIDTH
#define WIDTH 1
#endif
#if WIDTH < 1 || WIDTH > 16
#error "WIDTH: 1 to 16"
#endif

/* n elements from i on; n is a constant at each call. */
static void two(__global ELEM *dst, const __global ELEM *a, const __global ELEM *b, size_t i, uint n, uint raw,
                int n_final, OPS_FACTOR factor)
{
	ACC acc[WIDTH];

	for (uint e = 0; e < n; e++) {
		ACC x = OPS(load)(a, i + e);
		ACC y = OPS(load)(b, i + e);
		if (raw & 1)
			x = OPS(raw)(x, factor);
		if (raw & 2)
			y = OPS(raw)(y, factor);
		acc[e] = OPS(fold)(x, y);
		if (n_final != 0)
			acc[e] = OPS(final)(acc[e], n_final);
	}
	for (uint e = 0; e < n; e++)
		OPS(store)(dst, i + e, acc[e]);
}

/* Note [reduce arguments].  reduce_two: dst = final(a op b).
 * *_off     elements into the buffer
 * raw       bit 0: a holds original values, bit 1: b does (see OPS(raw))
 * n_final   number of ranks, 0 = without the final expression
 * factor    premul_sum multiplies original values by it; the other operators ignore it */
__kernel void reduce_two(__global ELEM *dst, ulong dst_off, const __global ELEM *a, ulong a_off, const __global ELEM *b,
                         ulong b_off, ulong count, uint raw, int n_final, OPS_FACTOR factor)
{
	size_t i = get_global_id(0) * WIDTH;

	if (i + WIDTH <= count)
		two(dst + dst_off, a + a_off, b + b_off, i, WIDTH, raw, n_final, factor);
#if WIDTH > 1
	else
		for (; i < count; i++)
			two(dst + dst_off, a + a_off, b + b_off, i, 1, raw, n_final, factor);
#endif
}

/* fold_source: acc op the k-th source, if there is one, of n elements from i on. */
static void fold_source(ACC *acc, uint k, uint n_src, uint raw, OPS_FACTOR factor, const __global ELEM *src, size_t i,
                        uint n)
{
	if (k >= n_src)
		return;
	for (uint e = 0; e < n; e++) {
		ACC x = OPS(load)(src, i + e);
		if (raw >> k & 1)
			x = OPS(raw)(x, factor);
		acc[e] = OPS(fold)(acc[e], x);
	}
}

#define FROM_PART 1 /* start from part[i], a partial result, and fold all sources into it */
#define TO_PART 2   /* leave the partial result in part[i], unrounded; dst is not written */

static void many(__global ELEM *dst, const __global ELEM *s0, const __global ELEM *s1, const __global ELEM *s2,
                 const __global ELEM *s3, const __global ELEM *s4, const __global ELEM *s5, const __global ELEM *s6,
                 const __global ELEM *s7, size_t i, uint n, uint n_src, uint raw, __global ACC *part, uint flags,
                 int n_final, OPS_FACTOR factor)
{
	ACC acc[WIDTH];

	for (uint e = 0; e < n; e++) {
		acc[e] = OPS(load)(s0, i + e);
		if (raw & 1)
			acc[e] = OPS(raw)(acc[e], factor);
		if (flags & FROM_PART)
			acc[e] = OPS(fold)(part[i + e], acc[e]);
	}
	fold_source(acc, 1, n_src, raw, factor, s1, i, n);
	fold_source(acc, 2, n_src, raw, factor, s2, i, n);
	fold_source(acc, 3, n_src, raw, factor, s3, i, n);
	fold_source(acc, 4, n_src, raw, factor, s4, i, n);
	fold_source(acc, 5, n_src, raw, factor, s5, i, n);
	fold_source(acc, 6, n_src, raw, factor, s6, i, n);
	fold_source(acc, 7, n_src, raw, factor, s7, i, n);
	for (uint e = 0; e < n; e++) {
		if (n_final != 0)
			acc[e] = OPS(final)(acc[e], n_final);
		if (flags & TO_PART)
			part[i + e] = acc[e];
		else
			OPS(store)(dst, i + e, acc[e]);
	}
}

/* reduce_many: the same over n_src = 1..8 sources, in one of several launches; the other source arguments are any
 * buffer and not read.  part: one ACC for each element, used as flags say; partial results keep ACC's precision. */
__kernel void reduce_many(__global ELEM *dst, ulong dst_off, const __global ELEM *s0, ulong o0, const __global ELEM *s1,
                          ulong o1, const __global ELEM *s2, ulong o2, const __global ELEM *s3, ulong o3,
                          const __global ELEM *s4, ulong o4, const __global ELEM *s5, ulong o5, const __global ELEM *s6,
                          ulong o6, const __global ELEM *s7, ulong o7, uint n_src, uint raw, __global ACC *part,
                          uint flags, ulong count, int n_final, OPS_FACTOR factor)
{
	size_t i = get_global_id(0) * WIDTH;

	if (i + WIDTH <= count)
		many(dst + dst_off, s0 + o0, s1 + o1, s2 + o2, s3 + o3, s4 + o4, s5 + o5, s6 + o6, s7 + o7, i, WIDTH,
		     n_src, raw, part, flags, n_final, factor);
#if WIDTH > 1
	else
		for (; i < count; i++)
			many(dst + dst_off, s0 + o0, s1 + o1, s2 + o2, s3 + o3, s4 + o4, s5 + o5, s6 + o6, s7 + o7, i,
			     1, n_src, raw, part, flags, n_final, factor);
#endif
}
