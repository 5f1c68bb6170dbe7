/* SPDX-License-Identifier: MIT */
/* Sum and sum of squares in one pass, each with the sum of its rounding errors: sum + error has about twice the type's
 * digits.
 *
 * The result does not depend on the device or the number of work-items: element i of a block belongs to lane i % LANES,
 * each lane is added in order, and then lane l of the blocks of a group, in order.  src/sparse/mean_std.c does
 * the same.
 *
 * Options: DTYPE = F16, BF16, F32 or F64, and OP = SUM (ops.h); LANES = parts of a block with a sum each; BLOCK =
 * elements of a block, a multiple of LANES; JOINED = blocks of a group. */
#include "ops.h"

#ifndef LANES
#error "LANES: parts of a block"
#endif
#if !defined BLOCK || BLOCK % LANES != 0
#error "BLOCK: elements of a block, a multiple of LANES"
#endif
#ifndef JOINED
#error "JOINED: blocks of a group"
#endif

/* Knuth's two-sum: the rounding error of a + b, whichever is larger. */
static void add(ACC *sum, ACC *error, ACC x)
{
	const ACC a = *sum, s = a + x, back = s - a;

	*error += (a - (s - back)) + (x - back);
	*sum = s;
}

/* Work-item b * LANES + l adds lane l of block b, so neighbouring items read neighbouring elements.  out: four numbers
 * a lane: sum, its error, sum of squares, its error. */
__kernel void mean_std(__global const ELEM *val, ulong val_at, ulong n, ulong items, __global ACC *out)
{
	const ulong item = get_global_id(0), from = item / LANES * BLOCK, end = min(from + BLOCK, n);
	ACC sum = 0, error = 0, squares = 0, squares_error = 0;

	if (item >= items)
		return;
	for (ulong i = from + item % LANES; i < end; i += LANES) {
		const ACC x = OPS(load)(val, val_at + i);

		add(&sum, &error, x);
		add(&squares, &squares_error, x * x);
	}
	out[item * 4] = sum;
	out[item * 4 + 1] = error;
	out[item * 4 + 2] = squares;
	out[item * 4 + 3] = squares_error;
}

/* Work-item g * LANES + l adds lane l of the blocks of group g. */
__kernel void mean_std_join(__global const ACC *from, ulong blocks, ulong items, __global ACC *out)
{
	const ulong item = get_global_id(0), first = item / LANES * JOINED, end = min(first + JOINED, blocks);
	ACC sum = 0, error = 0, squares = 0, squares_error = 0;

	if (item >= items)
		return;
	for (ulong b = first; b < end; b++) {
		const ulong at = (b * LANES + item % LANES) * 4;

		add(&sum, &error, from[at]);
		error += from[at + 1];
		add(&squares, &squares_error, from[at + 2]);
		squares_error += from[at + 3];
	}
	out[item * 4] = sum;
	out[item * 4 + 1] = error;
	out[item * 4 + 2] = squares;
	out[item * 4 + 3] = squares_error;
}
