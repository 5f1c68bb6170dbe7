/* SPDX-License-Identifier: MIT */
/* Note [select words].  The selection of select.cl for devices whose work-items run one after the other.  Vector
 * comparisons make a bit for each element first, so no branch depends on an element that is not taken, and each element
 * is read once.  Launches: select_words, scan_group over the counts, select_take.
 *
 * Options: KEY = ushort, uint or ulong, of the elements' width; SIGNED = short, int or long, of the same; INDEX = int
 * or long, the type of the positions; TIES = 1 if of the elements that equal the key only the first few are taken, 0 if
 * all.
 *
 * A word has a bit for each of 64 elements.  A span is `span` words, and a work-item reads STREAMS consecutive spans
 * side by side, since a CPU's prefetching stops at page ends and one stream would have half the rate.  The candidates
 * of a span are kept in `aside`, from the position of its first element on; their final positions are known only when
 * all spans are counted. */
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
#define KEY_OF(bits)  ((KEY)((bits) & (KEY)((KEY)-1 >> 1)))

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

/* masks: a bit for each element whose key is >= key; aside: those elements.  above[s]: elements of span s that are
 * taken without regard to ties; equal[s]: those that equal the key, if TIES. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_words(__global const KEY *val, ulong val_at, uint n, uint span, ulong key, __global ulong *masks,
                  __global KEY *aside, __global uint *above, __global uint *equal)
{
	const ulong words = (n + 63ul) / 64, first = get_global_id(0) * STREAMS;
	ulong to[STREAMS];
	uint more[STREAMS];

	for (uint s = 0; s < STREAMS; s++) {
		to[s] = (first + s) * span * 64;
		more[s] = 0;
	}
	for (uint k = 0; k < span; k += BLOCK) {
		for (uint i = k; i < min(k + BLOCK, span); i++)
			for (uint s = 0; s < STREAMS; s++) {
				const ulong w = (first + s) * span + i;
				__global const KEY *here = val + val_at + w * 64;

				if (w < words) {
					const ulong2 mask =
					    w < n / 64 ? word_of(here, (KEY)key) : part_of(here, n % 64, (KEY)key);

					masks[w] = mask.x;
					more[s] += (uint)popcount(mask.y);
				}
			}
		for (uint s = 0; s < STREAMS; s++) {
			const ulong from = (first + s) * span, end = min(from + min(k + BLOCK, span), words);

			for (ulong w = from + k; w < end; w++)
				for (ulong left = masks[w]; left != 0; left &= left - 1)
					aside[to[s]++] = val[val_at + w * 64 + 63 - clz(left & (0 - left))];
		}
	}
	for (uint s = 0; s < STREAMS; s++) {
		const uint reach = (uint)(to[s] - (first + s) * span * 64);

		above[first + s] = TIES ? more[s] : reach;
		equal[first + s] = TIES ? reach - more[s] : 0;
	}
}

/* above, equal: after scan_group.  One work-item for each span.  Positions from capacity on are not written. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_take(uint n, uint span, ulong key, uint ties, __global const uint *above, __global const uint *equal,
                 uint capacity, __global const ulong *masks, __global const KEY *aside, __global INDEX *ind,
                 __global KEY *out)
{
	const uint s = (uint)get_global_id(0);
	const ulong words = (n + 63ul) / 64, from = (ulong)s * span, end = min(from + span, words);
	ulong next = from * 64;
	uint more = above[s], same = equal[s];

	for (ulong w = from; w < end; w++)
		for (ulong left = masks[w]; left != 0; left &= left - 1) {
			const KEY bits = aside[next++];
			const bool is_more = !TIES || KEY_OF(bits) > (KEY)key, is_taken = is_more || same < ties;
			const uint to = more + min(same, ties);

			if (is_taken && to < capacity) {
				ind[to] = (INDEX)(w * 64 + 63 - clz(left & (0 - left)));
				out[to] = bits;
			}
			more += is_more;
			same += !is_more;
		}
}
