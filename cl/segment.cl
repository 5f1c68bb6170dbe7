/* SPDX-License-Identifier: MIT */
/* Segments: runs of equal keys in sorted entries.  segment_count and scan_group over its counts number them;
 * segment_start writes where each starts, segment_index its index.
 * Options: KEY, VALUE (entry.h); INDEX = int or long, the type of the indices that segment_index writes; GROUP, SPAN
 * (walk.h; SPAN is segment_index's). */
#include "entry.h"

#include "walk.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif

/* Work-item t owns one contiguous span, as in radix.cl.  heads[t] = segments that start in it. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void segment_count(__global const entry *entries, uint n, uint span, __global uint *heads)
{
	const uint t = (uint)get_global_id(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint count = 0;

	for (uint i = from; i < end; i++)
		count += i == 0 || entries[i].key != entries[i - 1].key;
	heads[t] = count;
}

/* heads, after scan_group: the number of the first segment that starts in the span.  start[*count] = n ends the
 * list. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void segment_start(__global const entry *entries, uint n, uint span, __global const uint *heads,
                   __global const uint *count, __global uint *start)
{
	const uint t = (uint)get_global_id(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint segment = heads[t];

	for (uint i = from; i < end; i++)
		if (i == 0 || entries[i].key != entries[i - 1].key)
			start[segment++] = i;
	if (t == 0)
		start[*count] = n;
}

/* ind[s] = (key of segment s) + shift. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void segment_index(__global const entry *entries, __global const uint *start, __global const uint *count, long shift,
                   __global INDEX *ind)
{
	for (walk at = walk_from(*count, 1); at.i < at.end; at = walk_on(at))
		ind[at.i] = (INDEX)((long)entries[start[at.i]].key + shift);
}
