/* SPDX-License-Identifier: MIT */
/* The rest of a radix sort after one pass by the uppermost digit (radix.cl): one work-item sorts each group, least
 * digit first.  A group fits the second-level cache of a CPU, so only the first pass goes through memory.
 *
 * Options: KEY, VALUE (entry.h); DIGIT_BITS = 1 .. 12, bits a pass; PASSES = passes over the lower bits: the result is
 * in entries if they are even in number, else in spare. */
#include "entry.h"

#if !defined DIGIT_BITS || DIGIT_BITS < 1 || DIGIT_BITS > 12
#error "DIGIT_BITS: 1 to 12"
#endif
#if !defined PASSES || PASSES < 1
#error "PASSES: passes over the lower bits"
#endif

#define DIGITS (1 << DIGIT_BITS)

static void pass(__global const entry *from, __global entry *to, uint n, uint shift)
{
	uint next[DIGITS], sum = 0;

	for (uint d = 0; d < DIGITS; d++)
		next[d] = 0;
	for (uint i = 0; i < n; i++)
		next[(uint)(from[i].key >> shift) & (DIGITS - 1)]++;
	for (uint d = 0; d < DIGITS; d++) {
		const uint here = next[d];

		next[d] = sum;
		sum += here;
	}
	for (uint i = 0; i < n; i++) {
		const entry e = from[i];

		to[next[(uint)(e.key >> shift) & (DIGITS - 1)]++] = e;
	}
}

/* A work-item a group.  counts: of the first pass, by so many items, after the scan: the first of a digit's is where
 * its group starts. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_groups(__global entry *entries, __global entry *spare, uint n, uint items, __global const uint *counts)
{
	const uint d = (uint)get_global_id(0), from = counts[d * items];
	const uint end = d + 1 < (uint)get_global_size(0) ? counts[(d + 1) * items] : n;

	for (uint p = 0; p < PASSES; p++) {
		const bool back = p % 2 != 0;

		pass((back ? spare : entries) + from, (back ? entries : spare) + from, end - from, p * DIGIT_BITS);
	}
}
