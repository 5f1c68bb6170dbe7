/* SPDX-License-Identifier: MIT */
/* The radix sort of radix.cl for devices whose groups have many items: radix_entries joins the lists, then a pass is
 * radix_count, scan_group over the counts, radix_move.  radix_short: all passes of a list that one group can sort.
 *
 * Options: INDEX = int or long, the type of the indices; KEY, VALUE (entry.h); CARRIES = 1 if entries carry elements, 0
 * if positions; RADIX_BITS = bits a pass; EACH = entries of an item; GROUP = work-items of a group.
 *
 * Work-group g owns one contiguous span.  counts[d * groups + g] = keys of digit d in it; the exclusive scan is where
 * the first of them goes.  The group moves its span in blocks of GROUP * EACH entries: each item counts the digits of
 * EACH neighbours, the counts of all items are summed digit by digit, which gives every entry its place in the sorted
 * block, and the block is written in that order, so neighbours go to neighbours (Satish, Harris, Garland: Designing
 * efficient sorting algorithms for manycore GPUs, 2009).  Entries of one digit keep their order. */
#include "entry.h"

#define SPAN EACH
#include "walk.h"

#include "group_sum.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef CARRIES
#error "CARRIES: 0 or 1"
#endif
#if !defined RADIX_BITS || RADIX_BITS < 1 || RADIX_BITS > 5
#error "RADIX_BITS: 1 to 5"
#endif
#if !defined EACH || GROUP * EACH > 65535
#error "EACH: entries of an item"
#endif

#define DIGITS     (1u << RADIX_BITS)
#define DIGIT(key) ((uint)((key) >> bit) & (DIGITS - 1))
#define BLOCK      (GROUP * EACH)

/* Of one list: its entries are those from `first` on.  rows: read only where entries carry elements. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void radix_entries(__global const INDEX *ind, ulong ind_at,
                                                                               __global const VALUE *rows,
                                                                               ulong rows_at, ulong n, long shift,
                                                                               ulong first, __global entry *entries)
{
	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at)) {
		entry e;

		e.key = (KEY)((long)ind[ind_at + at.i] + shift);
		e.value = CARRIES ? rows[rows_at + at.i] : (VALUE)(first + at.i);
		entries[first + at.i] = e;
	}
}

/* sums[d] = entries from `from` to `end` whose digit is d. */
static void count_digits(__global const entry *entries, uint from, uint end, uint bit, __local uint *sums)
{
	const uint t = group_item();

	for (uint d = t; d < DIGITS; d += GROUP)
		sums[d] = 0;
	GROUP_BARRIER(); /* the sums are zero before an item adds */
	for (uint i = from + t; i < end; i += GROUP)
		atomic_inc(&sums[DIGIT(entries[i].key)]);
	GROUP_BARRIER(); /* all items have added before one reads */
}

/* Moves the group's entries; next[d]: where the next of digit d goes.  block: BLOCK entries; sums: GROUP numbers;
 * place[d * GROUP + t]: of the first entry of item t in the sorted block. */
static void move_blocks(__global const entry *entries, uint from, uint end, uint bit, __local entry *block,
                        __local ushort *place, __local uint *sums, __local uint *next, __global entry *to)
{
	const uint t = group_item();

	for (uint first = from; first < end; first += BLOCK) {
		const uint here = min((uint)BLOCK, end - first);
		entry mine[EACH];
		uint rank[EACH], sum = 0, all;

		for (uint d = 0; d < DIGITS; d++)
			place[d * GROUP + t] = 0;
		for (uint j = 0; j < EACH; j++)
			if (t * EACH + j < here) {
				mine[j] = entries[first + t * EACH + j];
				rank[j] = place[DIGIT(mine[j].key) * GROUP + t]++;
			}
		GROUP_BARRIER(); /* all items have counted before their counts are summed */
		for (uint k = 0; k < DIGITS; k++)
			sum += place[t * DIGITS + k];
		sum = group_sum_before(sum, sums, &all);
		for (uint k = 0; k < DIGITS; k++) {
			const uint count = place[t * DIGITS + k];

			place[t * DIGITS + k] = (ushort)sum;
			sum += count;
		}
		GROUP_BARRIER(); /* the places are there */
		for (uint j = 0; j < EACH; j++)
			if (t * EACH + j < here)
				block[place[DIGIT(mine[j].key) * GROUP + t] + rank[j]] = mine[j];
		GROUP_BARRIER(); /* the block is sorted */
		for (uint i = t; i < here; i += GROUP) {
			const entry e = block[i];

			to[next[DIGIT(e.key)] + i - place[DIGIT(e.key) * GROUP]] = e;
		}
		GROUP_BARRIER(); /* it is written before the next places */
		for (uint d = t; d < DIGITS; d += GROUP)
			next[d] += (d + 1 < DIGITS ? place[(d + 1) * GROUP] : here) - place[d * GROUP];
		GROUP_BARRIER(); /* all have read the places of this block */
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void radix_count(__global const entry *entries, uint n,
                                                                             uint span, uint bit, __global uint *counts)
{
	__local uint sums[DIGITS];
	const uint g = (uint)get_group_id(0), groups = (uint)get_num_groups(0);
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);

	count_digits(entries, from, end, bit, sums);
	for (uint d = group_item(); d < DIGITS; d += GROUP)
		counts[d * groups + g] = sums[d];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_move(__global const entry *entries, uint n, uint span, uint bit, __global const uint *counts, __global entry *to)
{
	__local entry block[BLOCK];
	__local ushort place[DIGITS * GROUP];
	__local uint next[DIGITS], sums[GROUP];
	const uint g = (uint)get_group_id(0), groups = (uint)get_num_groups(0);
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);

	for (uint d = group_item(); d < DIGITS; d += GROUP)
		next[d] = counts[d * groups + g];
	GROUP_BARRIER(); /* next is there */
	move_blocks(entries, from, end, bit, block, place, sums, next, to);
}

/* All passes of a short list, by one group; an odd number of them ends in `spare`.  Then segment_count and its scan:
 * heads[0] = 0, *count = segments. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void radix_short(__global entry *entries,
                                                                             __global entry *spare, uint n, uint bits,
                                                                             __global uint *heads, __global uint *count)
{
	__local entry block[BLOCK];
	__local ushort place[DIGITS * GROUP];
	__local uint next[DIGITS], sums[GROUP];
	const uint t = group_item();
	__global entry *from = entries, *to = spare;
	uint mine = 0, all;

	for (uint bit = 0; bit < bits; bit += RADIX_BITS) {
		__global entry *const other = from;

		count_digits(from, 0, n, bit, next);
		if (t == 0)
			for (uint d = 0, sum = 0; d < DIGITS; d++) {
				const uint here = next[d];

				next[d] = sum;
				sum += here;
			}
		GROUP_BARRIER(); /* next is there */
		move_blocks(from, 0, n, bit, block, place, sums, next, to);
		barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE); /* all entries are moved before one is read */
		from = to;
		to = other;
	}
	for (uint i = t; i < n; i += GROUP)
		mine += is_head(from, i);
	(void)group_sum_before(mine, sums, &all);
	if (t == 0) {
		heads[0] = 0;
		*count = all;
	}
}
