/* SPDX-License-Identifier: MIT */
/* Note [select words].  The selection of select.cl for devices whose work-items run one after the other.  Vector
 * comparisons make a bit for each element first, so no branch depends on an element that is not taken, and each element
 * is read once.  Launches: select_mark, scan_group over the counts, select_take, as in select.cl.
 *
 * Options: KEY = ushort, uint or ulong, of the elements' width; SIGNED = short, int or long, of the same; INDEX = int
 * or long, the type of the positions; TIES = 1 if of the elements that equal the key only the first few are taken, 0 if
 * all.
 *
 * A word has a bit for each of 64 elements.  A span is whole words, and a work-item reads STREAMS consecutive spans
 * side by side, since a CPU's prefetching stops at page ends, so one stream would be slower.  The candidates of a span
 * are kept in `candidates`, from the position of its first element on; their final positions are known only when all
 * spans are counted. */
#ifndef KEY
#error "KEY: ushort, uint or ulong"
#endif
#ifndef SIGNED
#error "SIGNED: short, int or long"
#endif
#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef TIES
#error "TIES: 0 or 1"
#endif

#define STREAMS       8
#define BLOCK         64 /* words of a span at a time */
#define JOIN2(a, b)   a##b
#define JOIN(a, b)    JOIN2(a, b)
#define KEYS          JOIN(KEY, 16)
#define FLAGS         JOIN(SIGNED, 16)

#include "select_limit.h"

/* A bit for each lane that is not 0; one multiplication gathers the flags of eight lanes. */
static ulong bits_of(FLAGS flags)
{
	const ulong2 eight = as_ulong2(convert_char16(flags)) & 0x0101010101010101UL;
	const ulong2 bits = (eight * 0x0102040810204080UL) >> 56;

	return bits.x | bits.y << 8;
}

/* x: bits of the elements of a word whose key is >= key; y: of those > key, only if TIES. */
static ulong2 word_of(__global const KEY *val, KEY key)
{
	ulong2 mask = 0;

	for (uint i = 0; i < 4; i++) {
		const KEYS keys = vload16(i, val) & (KEYS)((KEY)-1 >> 1);

		mask.x |= bits_of(keys >= (KEYS)key) << (16 * i);
		if (TIES)
			mask.y |= bits_of(keys > (KEYS)key) << (16 * i);
	}
	return mask;
}

/* The same for the last word, which has n elements. */
static ulong2 part_of(__global const KEY *val, uint n, KEY key)
{
	ulong2 mask = 0;

	for (uint i = 0; i < n; i++) {
		mask.x |= (ulong)(KEY_OF(val[i]) >= key) << i;
		mask.y |= (ulong)(TIES && KEY_OF(val[i]) > key) << i;
	}
	return mask;
}

/* masks: a bit for each element whose key is >= the limit's; candidates: those elements.  counts[s]: elements of span s
 * that are taken without regard to ties; counts[spans + s]: those that equal the key, if TIES. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_mark(__global const KEY *val, ulong val_at, uint most, uint is_counted, __global const uint *there,
                 uint span, uint spans, ulong key, uint ties, __global const ulong *found, __global uint *counts,
                 __global ulong *masks, __global KEY *candidates)
{
	const uint n = elements_of(most, is_counted, there);
	const KEY least = limit_of(key, ties, found).key;
	const ulong words = (n + 63ul) / 64, first = get_global_id(0) * STREAMS;
	const uint length = span / 64;
	ulong to[STREAMS];
	uint more[STREAMS];

	for (uint s = 0; s < STREAMS; s++) {
		to[s] = (first + s) * span;
		more[s] = 0;
	}
	for (uint k = 0; k < length; k += BLOCK) {
		for (uint i = k; i < min(k + BLOCK, length); i++)
			for (uint s = 0; s < STREAMS; s++) {
				const ulong w = (first + s) * length + i;
				__global const KEY *here = val + val_at + w * 64;

				if (w < words) {
					const ulong2 mask =
					    w < n / 64 ? word_of(here, least) : part_of(here, n % 64, least);

					masks[w] = mask.x;
					more[s] += (uint)popcount(mask.y);
				}
			}
		for (uint s = 0; s < STREAMS; s++) {
			const ulong from = (first + s) * length, end = min(from + min(k + BLOCK, length), words);

			for (ulong w = from + k; w < end; w++)
				for (ulong left = masks[w]; left != 0; left &= left - 1)
					candidates[to[s]++] = val[val_at + w * 64 + 63 - clz(left & (0 - left))];
		}
	}
	for (uint s = 0; s < STREAMS; s++) {
		const uint reach = (uint)(to[s] - (first + s) * span);

		counts[first + s] = TIES ? more[s] : reach;
		if (TIES)
			counts[spans + first + s] = reach - more[s];
	}
}

/* counts: after scan_group.  One work-item for each span.  position: of elements that were counted, which an earlier
 * selection took.  Positions from capacity on are not written. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_take(__global const KEY *candidates, ulong candidates_at, uint most, uint is_counted,
                 __global const uint *there, uint span, uint spans, ulong key, uint ties, __global const ulong *found,
                 __global const uint *counts, __global const ulong *masks, __global const INDEX *position,
                 uint capacity, __global INDEX *ind, __global KEY *out)
{
	const uint n = elements_of(most, is_counted, there);
	const limit least = limit_of(key, ties, found);
	const uint s = (uint)get_global_id(0);
	const ulong words = (n + 63ul) / 64, from = (ulong)s * (span / 64), end = min(from + span / 64, words);
	ulong next = candidates_at + from * 64;
	uint more = counts[s], same = TIES ? counts[spans + s] - counts[spans] : 0;

	for (ulong w = from; w < end; w++)
		for (ulong left = masks[w]; left != 0; left &= left - 1) {
			const KEY bits = candidates[next++];
			const bool is_more = !TIES || KEY_OF(bits) > least.key, is_taken = is_more || same < least.ties;
			const uint to = more + min(same, least.ties);

			if (is_taken && to < capacity) {
				const ulong i = w * 64 + 63 - clz(left & (0 - left));

				ind[to] = is_counted ? position[i] : (INDEX)i;
				out[to] = bits;
			}
			more += is_more;
			same += !is_more;
		}
}
