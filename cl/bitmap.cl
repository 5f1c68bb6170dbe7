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

#ifndef INDEX
#error "INDEX: int or long"
#endif

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

/* Work-item t owns one contiguous span of words; counts[t] = bits set in it. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_count(__global const uint *bitmap, ulong words, ulong span, __global uint *counts)
{
	const ulong t = get_global_id(0), from = min(t * span, words), end = min(from + span, words);
	uint count = 0;

	for (ulong w = from; w < end; w++)
		count += popcount(bitmap[w]);
	counts[t] = count;
}

/* counts: after scan_group.  before[w] = bits set below word w. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitmap_before(__global const uint *bitmap, ulong words, ulong span, __global const uint *counts,
                   __global uint *before)
{
	const ulong t = get_global_id(0), from = min(t * span, words), end = min(from + span, words);
	uint count = counts[t];

	for (ulong w = from; w < end; w++) {
		before[w] = count;
		count += popcount(bitmap[w]);
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
