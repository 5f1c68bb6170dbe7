/* SPDX-License-Identifier: MIT */
/* Bitmaps of indices: index lo + x is bit x % 32 of word x / 32.  Several lists marked in one bitmap give their union.
 *
 *   bitmap_clear, bitmap_mark                  empty the bitmap and set bits
 *   bitmap_count, scan_group, bitmap_before    number the bits
 *   bitmap_index                               writes the bits back as indices
 *   bitmap_contains                            looks indices up
 *
 * Options: INDEX = int or long, the type of the indices; GROUP, SPAN (walk.h; here elements are indices or words). */
#include "walk.h"
#include "group_sum.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif

#define NEIGHBOURS (GROUP == 1 ? 1 : 4)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_clear(__global uint *bitmap, ulong words)
{
	for (walk at = walk_from(words, 1); at.i < at.end; at = walk_on(at))
		bitmap[at.i] = 0;
}

/* shift: the bit of a stored index is the index + shift.  Consecutive indices of one word, as an ascending list has,
 * are set by one atomic, which is expensive on CPUs; the order of the atomics changes nothing. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_mark(__global const INDEX *ind, ulong ind_at, ulong n, long shift, __global uint *bitmap)
{
	ulong word = 0;
	uint bits = 0;

	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at)) {
		const ulong x = (ulong)((long)ind[ind_at + at.i] + shift);

		if (x / 32 != word && bits != 0) {
			atomic_or(&bitmap[word], bits);
			bits = 0;
		}
		word = x / 32;
		bits |= 1u << (x % 32);
	}
	if (bits != 0)
		atomic_or(&bitmap[word], bits);
}

/* Group g owns one contiguous span of words; counts[g] = bits set in it. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_count(__global const uint *bitmap, ulong words, ulong span, __global uint *counts)
{
	__local uint sums[GROUP];
	const ulong g = group_number(), from = min(g * span, words), end = min(from + span, words);
	const uint t = group_item();
	uint count = 0, all;

	for (ulong w = from + t; w < end; w += GROUP)
		count += popcount(bitmap[w]);
	(void)group_sum_before(count, sums, &all);
	if (t == 0)
		counts[g] = all;
}

/* counts: after scan_group.  before[w] = bits set below word w.  An item takes NEIGHBOURS words a step. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_before(__global const uint *bitmap, ulong words, ulong span, __global const uint *counts,
                   __global uint *before)
{
	__local uint sums[GROUP];
	const ulong g = group_number(), from = min(g * span, words), end = min(from + span, words);
	const uint t = group_item();
	uint below = counts[g]; /* the step's first word */

	for (ulong start = from; start < end; start += GROUP * NEIGHBOURS) {
		const ulong first = start + t * NEIGHBOURS;
		uint bits[NEIGHBOURS], mine = 0, all;

		for (uint k = 0; k < NEIGHBOURS; k++) {
			bits[k] = first + k < end ? popcount(bitmap[first + k]) : 0;
			mine += bits[k];
		}
		mine = below + group_sum_before(mine, sums, &all);
		for (uint k = 0; k < NEIGHBOURS && first + k < end; k++) {
			before[first + k] = mine;
			mine += bits[k];
		}
		below += all;
	}
}

/* Writes the index of each bit, bit + shift, to ind, ascending. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_index(__global const uint *bitmap, __global const uint *before, ulong words, long shift,
                  __global INDEX *ind)
{
	for (walk at = walk_from(words, 1); at.i < at.end; at = walk_on(at)) {
		uint to = before[at.i];

		for (uint bits = bitmap[at.i]; bits != 0; bits &= bits - 1)
			ind[to++] = (INDEX)((long)(at.i * 32 + 31 - clz(bits & (0 - bits))) + shift);
	}
}

/* found[i] = 1 if the bit of ind[ind_at + i] is set, else 0; also 0 beyond the bitmap. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_contains(__global const INDEX *ind, ulong ind_at, ulong n, long shift, __global const uint *bitmap,
                     ulong words, __global uchar *found)
{
	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at)) {
		const ulong x = (ulong)((long)ind[ind_at + at.i] + shift);

		found[at.i] = x / 32 < words && (bitmap[x / 32] >> (x % 32) & 1);
	}
}
