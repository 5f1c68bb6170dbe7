/* SPDX-License-Identifier: MIT */
/* Selection by magnitude, with positions, in order: all elements above a key, and the first few that equal it.
 * Launches: select_count, scan_group over both counts, select_write.  select_digits finds the key of the k-th largest
 * element, one digit a launch.
 *
 * Options: KEY = ushort, uint or ulong, of the elements' width; INDEX = int or long, the type of the positions; GROUP =
 * work-items of a group, a power of two up to 1024: 1 on devices whose work-items run one after the other, which select
 * by select_words.cl and only count digits here.
 *
 * Group g owns one contiguous span and reads it in steps of GROUP elements, neighbouring items neighbouring elements.
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

#define KEY_OF(bits) ((KEY)((bits) & (KEY)((KEY)-1 >> 1)))
#define DIGIT_BITS   8
#define DIGITS       (1 << DIGIT_BITS)

#include "group_sum.h"

/* A group of one item needs no atomic, which is slow on CPUs. */
static void add_one(__local uint *sum)
{
	if (GROUP == 1)
		*sum += 1;
	else
		atomic_inc(sum);
}

/* above[g], equal[g] = elements of span g with key > and == key. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_count(__global const KEY *val, ulong val_at, uint n, uint span, ulong key, __global uint *above,
                  __global uint *equal)
{
	__local uint sums[2];
	const uint g = (uint)group_number(), t = (uint)get_local_id(0);
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint more = 0, same = 0;

	if (t < 2)
		sums[t] = 0;
	if (GROUP == 1)
		sums[1] = 0;
	for (uint i = from + t; i < end; i += GROUP) {
		const KEY here = KEY_OF(val[val_at + i]);

		more += here > (KEY)key;
		same += here == (KEY)key;
	}
	GROUP_BARRIER(); /* the sums are zero before an item adds */
	atomic_add(&sums[0], more);
	atomic_add(&sums[1], same);
	GROUP_BARRIER(); /* all have added before one item reads */
	if (t == 0) {
		above[g] = sums[0];
		equal[g] = sums[1];
	}
}

/* above, equal: after scan_group.  Positions from capacity on are not written. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_write(__global const KEY *val, ulong val_at, uint n, uint span, ulong key, uint ties,
                  __global const uint *above, __global const uint *equal, uint capacity, __global INDEX *ind,
                  __global KEY *out)
{
	__local uint sums[GROUP];
	const uint g = (uint)group_number(), t = group_item();
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint more_before = above[g], same_before = equal[g]; /* of the step's first element */

	for (uint start = from; start < end; start += GROUP) {
		const uint i = start + t;
		const KEY bits = i < end ? val[val_at + i] : 0, here = KEY_OF(bits);
		const uint more = i < end && here > (KEY)key, same = i < end && here == (KEY)key;
		uint all; /* both counts fit in 16 bits: GROUP is at most 1024 */
		const uint before = group_sum_before(more | same << 16, sums, &all);
		const uint rank = same_before + (before >> 16);
		const uint to = more_before + (before & 0xffff) + min(rank, ties);

		if ((more || (same && rank < ties)) && to < capacity) {
			ind[to] = (INDEX)i;
			out[to] = bits;
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

/* count[d] += elements whose key >> shift is prefix followed by the digit d of `bits` bits.  The counts are integers,
 * so the order of the atomics does not matter. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_digits(__global const KEY *val, ulong val_at, uint n, uint span, ulong prefix, uint shift, uint bits,
                   __global uint *count)
{
	__local uint sums[DIGITS];
	const uint g = (uint)group_number(), t = (uint)get_local_id(0);
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);

	for (uint d = t; d < DIGITS; d += GROUP)
		sums[d] = 0;
	GROUP_BARRIER(); /* the sums are zero before an item adds */
	for (uint i = from + t; i < end; i += GROUP) {
		const ulong top = (ulong)KEY_OF(val[val_at + i]) >> shift;

		if (top >> bits == prefix)
			add_one(&sums[(uint)top & ((1u << bits) - 1)]);
	}
	GROUP_BARRIER(); /* all items have added before one reads */
	for (uint d = t; d < DIGITS; d += GROUP)
		if (sums[d] > 0)
			atomic_add(&count[d], sums[d]);
}
