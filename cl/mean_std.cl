/* SPDX-License-Identifier: MIT */
/* Sum and sum of squares in one pass, each with the sum of its rounding errors: sum + error has about twice the type's
 * digits.
 *
 * The result does not depend on the device or the number of work-items: element i of a block belongs to lane i % LANES,
 * each lane is added in order, and then lane l of the blocks of a group, in order.  src/sparse/mean_std.c does
 * the same.
 *
 * Options: DTYPE = F16, BF16, F32 or F64, and OP = SUM (ops.h); LANES = parts of a block with a sum each; BLOCK =
 * elements of a block, a multiple of LANES; JOINED = blocks of a group; PREFETCH, JOINED_PREFETCH = elements and blocks
 * that a work-item reads before it adds them, in order: a GPU needs many loads on their way; GROUP = work-items of a
 * work-group. */
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
#ifndef GROUP
#error "GROUP: work-items of a work-group"
#endif
#if !defined PREFETCH || !defined JOINED_PREFETCH
#error "PREFETCH, JOINED_PREFETCH: elements and blocks that are read before they are added"
#endif

/* Knuth's two-sum: the rounding error of a + b, whichever is larger. */
static void add(ACC *sum, ACC *error, ACC x)
{
	const ACC a = *sum, s = a + x, back = s - a;

	*error += (a - (s - back)) + (x - back);
	*sum = s;
}

/* The sum and its error, the sum of squares and its error. */
typedef struct {
	ACC sum, error, squares, squares_error;
} sums;

static void put(__global ACC *out, ulong item, const sums *s)
{
	out[item * 4] = s->sum;
	out[item * 4 + 1] = s->error;
	out[item * 4 + 2] = s->squares;
	out[item * 4 + 3] = s->squares_error;
}

/* Work-item b * LANES + l adds lane l of block b, so neighbouring items read neighbouring elements.  out: four numbers
 * a lane: sum, its error, sum of squares, its error. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
mean_std(__global const ELEM *val, ulong val_at, ulong n, ulong items, __global ACC *out)
{
	const ulong item = get_global_id(0), from = item / LANES * BLOCK, end = min(from + BLOCK, n);
	sums s = { 0, 0, 0, 0 };

	if (item >= items)
		return;
	for (ulong i = from + item % LANES; i < end; i += PREFETCH * LANES) {
		ACC x[PREFETCH];

#pragma unroll
		for (uint k = 0; k < PREFETCH; k++)
			x[k] = i + k * LANES < end ? OPS(load)(val, val_at + i + k * LANES) : 0;
#pragma unroll
		for (uint k = 0; k < PREFETCH; k++) { /* 0 changes no bit: no sum is -0 */
			add(&s.sum, &s.error, x[k]);
			add(&s.squares, &s.squares_error, x[k] * x[k]);
		}
	}
	put(out, item, &s);
}

/* Work-item g * LANES + l adds lane l of the blocks of group g. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
mean_std_join(__global const ACC *from, ulong blocks, ulong items, __global ACC *out)
{
	const ulong item = get_global_id(0), first = item / LANES * JOINED, end = min(first + JOINED, blocks);
	sums s = { 0, 0, 0, 0 };

	if (item >= items)
		return;
	for (ulong b = first; b < end; b += JOINED_PREFETCH) {
		sums x[JOINED_PREFETCH];

#pragma unroll
		for (uint k = 0; k < JOINED_PREFETCH; k++) {
			const ulong at = ((b + k) * LANES + item % LANES) * 4;

			x[k].sum = b + k < end ? from[at] : 0;
			x[k].error = b + k < end ? from[at + 1] : 0;
			x[k].squares = b + k < end ? from[at + 2] : 0;
			x[k].squares_error = b + k < end ? from[at + 3] : 0;
		}
#pragma unroll
		for (uint k = 0; k < JOINED_PREFETCH; k++) {
			add(&s.sum, &s.error, x[k].sum);
			s.error += x[k].error;
			add(&s.squares, &s.squares_error, x[k].squares);
			s.squares_error += x[k].squares_error;
		}
	}
	put(out, item, &s);
}
