/* SPDX-License-Identifier: MIT */
/* Presence bitmaps: index lo + x is bit x % 32 of word x / 32.
 * bitmap_mark sets them; bitmap_count, scan_group over its counts, bitmap_before number the bits; bitmap_index writes them back as indices;
 * bitmap_contains looks them up.  The union of several lists is the bitmap that all of them were marked in.
 * Options: INDEX = int or long, the type of the indices. */
#ifndef INDEX
#error "INDEX: int or long"
#endif

/* One item an index; shift = what to add to a stored index to get its bit.  Or-ing is the same in any order. */
__kernel void bitmap_mark(__global const INDEX *ind, ulong ind_at, ulong n, long shift, __global uint *bitmap)
{
	const ulong i = get_global_id(0);

	if (i < n) {
		const ulong x = (ulong)((long)ind[ind_at + i] + shift);

		atomic_or(&bitmap[x / 32], 1u << (x % 32));
	}
}

/* Work-item t owns one contiguous span of words: counts[t] = bits set there. */
__kernel void bitmap_count(__global const uint *bitmap, ulong words, ulong span, __global uint *counts)
{
	const ulong t = get_global_id(0), from = min(t * span, words), end = min(from + span, words);
	uint count = 0;

	for (ulong w = from; w < end; w++)
		count += popcount(bitmap[w]);
	counts[t] = count;
}

/* counts after the scan.  before[w] = bits set below word w. */
__kernel void bitmap_before(__global const uint *bitmap, ulong words, ulong span, __global const uint *counts, __global uint *before)
{
	const ulong t = get_global_id(0), from = min(t * span, words), end = min(from + span, words);
	uint count = counts[t];

	for (ulong w = from; w < end; w++) {
		before[w] = count;
		count += popcount(bitmap[w]);
	}
}

/* One item a word: the indices of its bits, ascending, each shift above its bit, to their places in ind. */
__kernel void bitmap_index(__global const uint *bitmap, __global const uint *before, ulong words, long shift, __global INDEX *ind)
{
	const ulong w = get_global_id(0);

	if (w < words) {
		uint to = before[w];

		for (uint bits = bitmap[w]; bits != 0; bits &= bits - 1)
			ind[to++] = (INDEX)((long)(w * 32 + 31 - clz(bits & (0 - bits))) + shift);
	}
}

/* One item an index: found[i] = 1 if its bit is set; indices beyond the bitmap are not in it. */
__kernel void bitmap_contains(__global const INDEX *ind, ulong ind_at, ulong n, long shift, __global const uint *bitmap, ulong words,
                              __global uchar *found)
{
	const ulong i = get_global_id(0);

	if (i < n) {
		const ulong x = (ulong)((long)ind[ind_at + i] + shift);

		found[i] = x / 32 < words && (bitmap[x / 32] >> (x % 32) & 1);
	}
}
