/* SPDX-License-Identifier: MIT */
/* A stable radix sort of (key, position), least digit first.  A pass is radix_count, scan_group over the counts, radix_move.
 * Options: INDEX = int or long, the type of the indices; KEY = uint or ulong, holds every index - least; RADIX_BITS = 1 .. 8, bits a pass (few on
 * devices with many work-items, so that the counts stay short).
 *
 * Work-item t of T owns one contiguous span: it alone counts and moves its keys, in their order, so the sort is stable without atomics or
 * barriers.  counts[d * T + t] = keys of digit d in span t: the exclusive scan of it is where the first of them goes. */
#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef KEY
#error "KEY: uint or ulong"
#endif
#if !defined RADIX_BITS || RADIX_BITS < 1 || RADIX_BITS > 8
#error "RADIX_BITS: 1 to 8"
#endif

#define DIGITS (1 << RADIX_BITS)

/* keys[to + i] = ind[ind_at + i] + shift, at[to + i] = to + i, for i < n. */
__kernel void radix_load(__global const INDEX *ind, ulong ind_at, uint n, uint span, long shift, __global KEY *keys, __global uint *at, uint to)
{
	const uint t = (uint)get_global_id(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);

	for (uint i = from; i < end; i++) {
		keys[to + i] = (KEY)((long)ind[ind_at + i] + shift);
		at[to + i] = to + i;
	}
}

__kernel void radix_count(__global const KEY *keys, uint n, uint span, uint bit, __global uint *counts)
{
	const uint t = (uint)get_global_id(0), items = (uint)get_global_size(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint mine[DIGITS];

	for (uint d = 0; d < DIGITS; d++)
		mine[d] = 0;
	for (uint i = from; i < end; i++)
		mine[(uint)(keys[i] >> bit) & (DIGITS - 1)]++;
	for (uint d = 0; d < DIGITS; d++)
		counts[d * items + t] = mine[d];
}

__kernel void radix_move(__global const KEY *keys, __global const uint *at, uint n, uint span, uint bit, __global const uint *counts,
                         __global KEY *keys_to, __global uint *at_to)
{
	const uint t = (uint)get_global_id(0), items = (uint)get_global_size(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint next[DIGITS];

	for (uint d = 0; d < DIGITS; d++)
		next[d] = counts[d * items + t];
	for (uint i = from; i < end; i++) {
		const KEY key = keys[i];
		const uint to = next[(uint)(key >> bit) & (DIGITS - 1)]++;

		keys_to[to] = key;
		at_to[to] = at[i];
	}
}
