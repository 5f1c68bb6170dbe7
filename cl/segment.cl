/* SPDX-License-Identifier: MIT */
/* Segments: runs of equal keys in a sorted list.  segment_count, scan_group over its counts, segment_start give where each segment starts;
 * segment_index their indices.
 * Options: KEY = uint or ulong; INDEX = int or long, the type of the indices that segment_index writes. */
#ifndef KEY
#error "KEY: uint or ulong"
#endif
#ifndef INDEX
#error "INDEX: int or long"
#endif

/* Work-item t owns one contiguous span, as in radix.cl.  heads[t] = segments that start in it. */
__kernel void segment_count(__global const KEY *keys, uint n, uint span, __global uint *heads)
{
	const uint t = (uint)get_global_id(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint count = 0;

	for (uint i = from; i < end; i++)
		count += i == 0 || keys[i] != keys[i - 1];
	heads[t] = count;
}

/* heads after the scan: the number of the first segment that starts in the span.  start[count] = n closes the list. */
__kernel void segment_start(__global const KEY *keys, uint n, uint span, __global const uint *heads, __global const uint *count,
                            __global uint *start)
{
	const uint t = (uint)get_global_id(0);
	const uint from = (uint)min((ulong)t * span, (ulong)n), end = (uint)min((ulong)from + span, (ulong)n);
	uint segment = heads[t];

	for (uint i = from; i < end; i++)
		if (i == 0 || keys[i] != keys[i - 1])
			start[segment++] = i;
	if (t == 0)
		start[count[0]] = n;
}

/* One item a segment: ind[s] = its key + shift. */
__kernel void segment_index(__global const KEY *keys, __global const uint *start, uint count, long shift, __global INDEX *ind)
{
	const uint s = (uint)get_global_id(0);

	if (s < count)
		ind[s] = (INDEX)((long)keys[start[s]] + shift);
}
