/* SPDX-License-Identifier: MIT */
/* Segments: runs of equal keys in sorted entries.  segment_count and scan_group over its counts number them;
 * segment_start writes where each starts, and its index.
 * Options: KEY, VALUE (entry.h); INDEX = int or long, the type of the indices; GROUP = work-items of a group.
 *
 * Work-group g owns one contiguous span, as in radix_blocks.cl. */
#include "entry.h"

#include "group_sum.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif

/* heads[g] = segments that start in the span. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void segment_count(__global const entry *entries, uint n,
                                                                               uint span, __global uint *heads)
{
	__local uint sums[GROUP];
	const uint g = (uint)get_group_id(0), t = group_item();
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint count = 0, all;

	for (uint i = from + t; i < end; i += GROUP)
		count += is_head(entries, i);
	(void)group_sum_before(count, sums, &all);
	if (t == 0)
		heads[g] = all;
}

/* heads, after scan_group: the number of the first segment that starts in the span.  start[*count] = n ends the list;
 * ind[s] = (key of segment s) + shift. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
segment_start(__global const entry *entries, uint n, uint span, __global const uint *heads, __global const uint *count,
              long shift, __global uint *start, __global INDEX *ind)
{
	__local uint sums[GROUP];
	const uint g = (uint)get_group_id(0), t = group_item();
	const uint from = (uint)min((ulong)g * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint segment = heads[g];

	for (uint block = from; block < end; block += GROUP) {
		const uint i = block + t, head = i < end ? is_head(entries, i) : 0;
		uint all;
		const uint s = segment + group_sum_before(head, sums, &all);

		if (head) {
			start[s] = i;
			ind[s] = (INDEX)((long)entries[i].key + shift);
		}
		segment += all;
	}
	if (g == 0 && t == 0)
		start[*count] = n;
}
