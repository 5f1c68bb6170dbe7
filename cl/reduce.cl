/* SPDX-License-Identifier: MIT */
/* Reductions of several sources into one destination.
 *
 * Parameters: DTYPE, OP (see ops.h, which checks them).
 *
 * One work-item for each element: CPU runtimes make a work-group a loop over one contiguous span, and on GPUs
 * neighbouring items share cache lines.  Items beyond count do nothing.  No barrier: an item reads and writes only its
 * own element of each array, which is also why dst may be one of the sources. */
#include "ops.h"

/* reduce_two: dst = final(a op b).
 * *_off     elements into the buffer
 * raw       bit 0: a holds original values, bit 1: b does (see OPS(raw))
 * n_final   number of ranks, 0 = without the final expression
 * factor    premul_sum multiplies original values by it; the other operators ignore it */
__kernel void reduce_two(__global ELEM *dst, ulong dst_off, const __global ELEM *a, ulong a_off, const __global ELEM *b,
                         ulong b_off, ulong count, uint raw, int n_final, OPS_FACTOR factor)
{
	size_t i = get_global_id(0);

	if (i >= count)
		return;
	ACC x = OPS(load)(a + a_off, i);
	ACC y = OPS(load)(b + b_off, i);
	if (raw & 1)
		x = OPS(raw)(x, factor);
	if (raw & 2)
		y = OPS(raw)(y, factor);
	ACC sum = OPS(fold)(x, y);
	if (n_final != 0)
		sum = OPS(final)(sum, n_final);
	OPS(store)(dst + dst_off, i, sum);
}

/* fold_source: acc op the k-th source, if there is one. */
static ACC fold_source(ACC acc, uint k, uint n_src, uint raw, OPS_FACTOR factor, const __global ELEM *src, size_t i)
{
	if (k >= n_src)
		return acc;
	ACC x = OPS(load)(src, i);
	if (raw >> k & 1)
		x = OPS(raw)(x, factor);
	return OPS(fold)(acc, x);
}

#define FROM_PART 1 /* start from part[i], a partial result, and fold all sources into it */
#define TO_PART 2   /* leave the partial result in part[i], unrounded; dst is not written */

/* reduce_many: the same over n_src = 1..8 sources, in one of several launches; the other source arguments are any
 * buffer and not read.  part: one ACC for each element, used as flags say; partial results keep ACC's precision. */
__kernel void reduce_many(__global ELEM *dst, ulong dst_off, const __global ELEM *s0, ulong o0, const __global ELEM *s1,
                          ulong o1, const __global ELEM *s2, ulong o2, const __global ELEM *s3, ulong o3,
                          const __global ELEM *s4, ulong o4, const __global ELEM *s5, ulong o5, const __global ELEM *s6,
                          ulong o6, const __global ELEM *s7, ulong o7, uint n_src, uint raw, __global ACC *part,
                          uint flags, ulong count, int n_final, OPS_FACTOR factor)
{
	size_t i = get_global_id(0);

	if (i >= count)
		return;
	ACC acc = OPS(load)(s0 + o0, i);
	if (raw & 1)
		acc = OPS(raw)(acc, factor);
	if (flags & FROM_PART)
		acc = OPS(fold)(part[i], acc);
	acc = fold_source(acc, 1, n_src, raw, factor, s1 + o1, i);
	acc = fold_source(acc, 2, n_src, raw, factor, s2 + o2, i);
	acc = fold_source(acc, 3, n_src, raw, factor, s3 + o3, i);
	acc = fold_source(acc, 4, n_src, raw, factor, s4 + o4, i);
	acc = fold_source(acc, 5, n_src, raw, factor, s5 + o5, i);
	acc = fold_source(acc, 6, n_src, raw, factor, s6 + o6, i);
	acc = fold_source(acc, 7, n_src, raw, factor, s7 + o7, i);
	if (n_final != 0)
		acc = OPS(final)(acc, n_final);
	if (flags & TO_PART)
		part[i] = acc;
	else
		OPS(store)(dst + dst_off, i, acc);
}
