/* SPDX-License-Identifier: MIT */
/* Selection by magnitude, with positions, in order (select_limit.h).
 *
 *   select_mark, scan_group, select_take    what a limit selects; each element is read once
 *   select_sample                           a few elements, each at its place of a stride
 *   select_digits, select_pick              the limit of the k largest, a digit of its key each time
 *
 * Options: KEY = ushort, uint or ulong, of the elements' width; INDEX = int or long, the type of the positions; GROUP =
 * work-items of a group, a power of two up to 1024: 1 on devices whose work-items run one after the other, which select
 * by select_words.cl and search here; DIGIT_BITS = bits of a digit.
 *
 * Group g owns one contiguous span.  Its items read EACH neighbours at a time, neighbouring items neighbouring ones.
 * The key of an element is its bits without the sign, which are ordered as |x| is, with NaN above all. */
#ifndef KEY
#error "KEY: ushort, uint or ulong"
#endif
#ifndef INDEX
#error "INDEX: int or long"
#endif
#if !defined GROUP || GROUP < 1 || GROUP > 1024
#error "GROUP: 1 to 1024"
#endif
#ifndef DIGIT_BITS
#error "DIGIT_BITS: bits of a digit"
#endif

#define EACH        8 /* bits of a byte of the masks, lanes of KEYS */
#define TAKEN       32
#define DIGITS      (1 << DIGIT_BITS)
#define KEY_BITS    (8 * sizeof(KEY) - 1)
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define KEYS        JOIN(KEY, 8)

#include "group_sum.h"
#include "select_limit.h"

/* The keys of the EACH neighbours from val on, of which n are there; wide: val is aligned as KEYS is.  Loops over EACH
 * keys are unrolled, so that the keys stay in registers. */
static void read_keys(__global const KEY *val, uint n, bool wide, KEY keys[EACH])
{
	if (n >= EACH && wide)
		vstore8(*(__global const KEYS *)val, 0, keys);
	else if (n >= EACH)
		vstore8(vload8(0, val), 0, keys);
	else {
#pragma unroll
		for (uint e = 0; e < EACH; e++)
			keys[e] = e < n ? val[e] : 0;
	}
#pragma unroll
	for (uint e = 0; e < EACH; e++)
		keys[e] = KEY_OF(keys[e]);
}

static bool is_wide(__global const KEY *val)
{
	return (uintptr_t)val % sizeof(KEYS) == 0;
}

/* masks: a bit for each element whose key is >= the limit's.  counts[g]: elements of span g that are taken without
 * regard to ties; counts[spans + g]: those that equal the key, unless all of them are taken. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_mark(__global const KEY *val, ulong val_at, uint most, uint is_counted, __global const uint *there,
                 uint span, uint spans, ulong key, uint ties, __global const ulong *found, __global uint *counts,
                 __global uchar *masks)
{
	__local uint sums[GROUP];
	const uint n = elements_of(most, is_counted, there);
	const limit least = limit_of(key, ties, found);
	const uint g = (uint)group_number(), t = group_item();
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	const bool wide = is_wide(val + val_at);
	uint more = 0, reach = 0, all;

	for (uint i = from + t * EACH; i < end; i += GROUP * EACH) {
		const uint here = min(end - i, (uint)EACH);
		uint bits = 0, above = 0;
		KEY keys[EACH];

		read_keys(val + val_at + i, here, wide, keys);
#pragma unroll
		for (uint e = 0; e < EACH; e++) {
			bits |= (uint)(keys[e] >= least.key) << e;
			above += keys[e] > least.key;
		}
		bits &= (1u << here) - 1; /* a key of 0 is reached by what is not there, and not exceeded */
		masks[i / EACH] = (uchar)bits;
		reach += popcount(bits);
		more += above;
	}
	(void)group_sum_before(least.ties == ALL_TIES ? reach : more, sums, &all);
	if (t == 0)
		counts[g] = all;
	if (least.ties == ALL_TIES)
		return;
	(void)group_sum_before(reach - more, sums, &all);
	if (t == 0)
		counts[spans + g] = all;
}

/* counts: after scan_group.  An item takes what TAKEN neighbours have.  position: of elements that were counted, which
 * an earlier selection took.  Positions from capacity on are not written. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_take(__global const KEY *val, ulong val_at, uint most, uint is_counted, __global const uint *there,
                 uint span, uint spans, ulong key, uint ties, __global const ulong *found,
                 __global const uint *counts, __global const uchar *masks, __global const INDEX *position,
                 uint capacity, __global INDEX *ind, __global KEY *out)
{
	__local uint sums[GROUP];
	const uint n = elements_of(most, is_counted, there);
	const limit least = limit_of(key, ties, found);
	const bool all_ties = least.ties == ALL_TIES;
	const uint g = (uint)group_number(), t = group_item();
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint more_before = counts[g], same_before = all_ties ? 0 : counts[spans + g] - counts[spans];

	for (uint start = from; start < end; start += GROUP * TAKEN) {
		const uint first = start + t * TAKEN;
		uint bits = 0, same = 0, all;

		for (uint b = 0; b < TAKEN; b += EACH)
			if (first + b < end)
				bits |= (uint)masks[(first + b) / EACH] << b;
		if (!all_ties)
			for (uint left = bits; left != 0; left &= left - 1)
				same += KEY_OF(val[val_at + first + 31 - clz(left & (0 - left))]) == least.key;
		/* both counts fit in 16 bits */
		const uint before = group_sum_before((popcount(bits) - same) | same << 16, sums, &all);
		uint more_at = more_before + (before & 0xffff), same_at = same_before + (before >> 16);

		for (uint left = bits; left != 0; left &= left - 1) {
			const uint i = first + 31 - clz(left & (0 - left)), to = more_at + min(same_at, least.ties);
			const KEY here = val[val_at + i];
			const bool is_more = all_ties || KEY_OF(here) > least.key;

			if ((is_more || same_at < least.ties) && to < capacity) {
				ind[to] = is_counted ? position[i] : (INDEX)i;
				out[to] = here;
			}
			more_at += is_more;
			same_at += !is_more;
		}
		more_before += all & 0xffff;
		same_before += all >> 16;
	}
}

/* out[i] = element i % stride of the i-th block of stride elements; a work-item takes `span` of the samples. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_sample(__global const KEY *val, ulong val_at, ulong stride, uint samples, uint span, __global KEY *out)
{
	const uint from = (uint)get_global_id(0) * span, end = min(from + span, samples);

	for (uint i = from; i < end; i++)
		out[i] = val[val_at + i * stride + i % stride];
}

/* What select_pick found before, as a key and a rank for each digit that was to come: what the key of the k-th largest
 * begins with, and which of those that begin so it is. */
static ulong2 found_before(uint k, uint shift, uint bits, uint left, __global const ulong *found)
{
	return shift + bits == KEY_BITS ? (ulong2)(0, k) : (ulong2)(found[2 * left + 2], found[2 * left + 3]);
}

/* A group of one item needs no atomic, which is slow on CPUs. */
static void add_to(__local uint *sum, uint n)
{
	if (GROUP == 1)
		*sum += n;
	else if (n > 0)
		atomic_add(sum, n);
}

/* count[d] += elements whose key >> shift is what was found followed by the digit d of `bits` bits; left: digits after
 * this one.  The counts are integers, so the order of the atomics does not matter. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_digits(__global const KEY *val, ulong val_at, uint most, uint is_counted, __global const uint *there,
                   uint span, uint k, uint shift, uint bits, uint left, __global const ulong *found,
                   __global uint *count)
{
	__local uint sums[DIGITS];
	const uint n = elements_of(most, is_counted, there);
	const ulong prefix = found_before(k, shift, bits, left, found).x;
	const uint g = (uint)group_number(), t = group_item(), mask = (1u << bits) - 1;
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	const bool wide = is_wide(val + val_at);

	for (uint d = t; d < DIGITS; d += GROUP)
		sums[d] = 0;
	GROUP_BARRIER(); /* the sums are zero before an item adds */
#if GROUP == 1
	for (uint i = from; i < end; i++) {
		const ulong top = (ulong)KEY_OF(val[val_at + i]) >> shift;

		if (top >> bits == prefix)
			add_to(&sums[(uint)top & mask], 1);
	}
#else
	for (uint i = from + t * EACH; i < end; i += GROUP * EACH) {
		const uint here = min(end - i, (uint)EACH);
		uint digit = 0, times = 0; /* equal digits of neighbours are added by one atomic */
		KEY keys[EACH];

		read_keys(val + val_at + i, here, wide, keys);
#pragma unroll
		for (uint e = 0; e < EACH; e++) {
			const ulong top = (ulong)keys[e] >> shift;

			if (e >= here || top >> bits != prefix)
				continue;
			if (((uint)top & mask) != digit) {
				add_to(&sums[digit], times);
				times = 0;
			}
			digit = (uint)top & mask;
			times++;
		}
		add_to(&sums[digit], times);
	}
#endif
	GROUP_BARRIER(); /* all items have added before one reads */
	for (uint d = t; d < DIGITS; d += GROUP)
		if (sums[d] > 0)
			atomic_add(&count[d], sums[d]);
}

/* Appends the digit of the k-th largest to what was found; with none left that becomes a key, in which digits that were
 * not sought are 0.  Rank 0: there are fewer than k.  One group.  The counts are zero again at the end. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_pick(uint k, uint shift, uint bits, uint left, __global ulong *found, __global uint *count)
{
	__local uint sums[GROUP];
	const ulong2 before = found_before(k, shift, bits, left, found);
	const uint each = DIGITS / min(DIGITS, GROUP), t = group_item(), top = DIGITS - 1 - t * each;
	uint mine = 0, all;

	if (t < DIGITS / each) /* the items take the digits from the highest on */
		for (uint d = 0; d < each; d++)
			mine += count[top - d];
	const uint above = group_sum_before(mine, sums, &all);

	if (above < before.y && before.y - above <= mine) {
		uint digit = top;
		ulong rank = before.y - above;

		for (; count[digit] < rank; digit--)
			rank -= count[digit];
		found[2 * left] = (before.x << bits | digit) << (left == 0 ? shift : 0);
		found[2 * left + 1] = rank;
	}
	if (t == 0 && (before.y == 0 || before.y > all)) {
		found[2 * left] = 0;
		found[2 * left + 1] = 0;
	}
	if (t < DIGITS / each)
		for (uint d = 0; d < each; d++)
			count[top - d] = 0;
}
