/* SPDX-License-Identifier: MIT */
/* A stable radix sort of entries, least digit first.  A pass is radix_count, scan_group over the counts, radix_move.
 * The first pass reads the caller's indices: radix_count_first, scan_group, radix_move_first.  radix_load joins the
 * indices of several lists before it.
 *
 * Options: KEY, VALUE (entry.h); INDEX = int or long, the type of the indices, or KEY once they were loaded; CARRIES =
 * 1 if entries carry elements, 0 if positions; RADIX_BITS = 1 .. 11, bits a pass (few on devices with many work-items,
 * so that the counts stay short); GROUP, SPAN (walk.h; SPAN is radix_load's).
 *
 * Work-item t of T owns one contiguous span and moves its entries in their order, so the sort is stable without atomics
 * or barriers.  counts[d * T + t] = keys of digit d in span t; its exclusive scan is where the first of them goes. */
#include "entry.h"

#include "walk.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef CARRIES
#error "CARRIES: 0 or 1"
#endif
#if !defined RADIX_BITS || RADIX_BITS < 1 || RADIX_BITS > 11
#error "RADIX_BITS: 1 to 11"
#endif

#define DIGITS (1 << RADIX_BITS)
#define DIGIT(key) ((uint)((key) >> bit) & (DIGITS - 1))

/* keys[i] = ind[ind_at + i] + shift. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void radix_load(__global const INDEX *ind, ulong ind_at, ulong n, long shift, __global KEY *keys, ulong keys_at)
{
	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at))
		keys[keys_at + at.i] = (KEY)((long)ind[ind_at + at.i] + shift);
}

static void write_counts(const uint *mine, __global uint *counts)
{
	const uint t = (uint)get_global_id(0), items = (uint)get_global_size(0);

	for (uint d = 0; d < DIGITS; d++)
		counts[d * items + t] = mine[d];
}

static void read_counts(__global const uint *counts, uint *next)
{
	const uint t = (uint)get_global_id(0), items = (uint)get_global_size(0);

	for (uint d = 0; d < DIGITS; d++)
		next[d] = counts[d * items + t];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void radix_count_first(__global const INDEX *ind, ulong ind_at, uint n, uint span, long shift, uint bit,
                       __global uint *counts)
{
	const uint from = (uint)min((ulong)get_global_id(0) * span, (ulong)n),
		   end = (uint)min((ulong)from + span, (ulong)n);
	uint mine[DIGITS];

	for (uint d = 0; d < DIGITS; d++)
		mine[d] = 0;
	for (uint i = from; i < end; i++)
		mine[DIGIT((KEY)((long)ind[ind_at + i] + shift))]++;
	write_counts(mine, counts);
}

/* rows: the elements that entries carry; not read where entries carry positions. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void radix_move_first(__global const INDEX *ind, ulong ind_at, __global const VALUE *rows, ulong rows_at, uint n,
                      uint span, long shift, uint bit, __global const uint *counts, __global entry *to)
{
	const uint from = (uint)min((ulong)get_global_id(0) * span, (ulong)n),
		   end = (uint)min((ulong)from + span, (ulong)n);
	uint next[DIGITS];

	read_counts(counts, next);
	for (uint i = from; i < end; i++) {
		entry e;

		e.key = (KEY)((long)ind[ind_at + i] + shift);
		e.value = CARRIES ? rows[rows_at + i] : (VALUE)i;
		to[next[DIGIT(e.key)]++] = e;
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void radix_count(__global const entry *entries, uint n, uint span, uint bit, __global uint *counts)
{
	const uint from = (uint)min((ulong)get_global_id(0) * span, (ulong)n),
		   end = (uint)min((ulong)from + span, (ulong)n);
	uint mine[DIGITS];

	for (uint d = 0; d < DIGITS; d++)
		mine[d] = 0;
	for (uint i = from; i < end; i++)
		mine[DIGIT(entries[i].key)]++;
	write_counts(mine, counts);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void radix_move(__global const entry *entries, uint n, uint span, uint bit, __global const uint *counts,
                __global entry *to)
{
	const uint from = (uint)min((ulong)get_global_id(0) * span, (ulong)n),
		   end = (uint)min((ulong)from + span, (ulong)n);
	uint next[DIGITS];

	read_counts(counts, next);
	for (uint i = from; i < end; i++) {
		const entry e = entries[i];

		to[next[DIGIT(e.key)]++] = e;
	}
}
