/* SPDX-License-Identifier: MIT */
/* index_range: the least and greatest index and the first negative one.
 * Options: INDEX = int or long, the type of the indices. */
#ifndef INDEX
#error "INDEX: int or long"
#endif

/* Work-item t reads one contiguous span of `span` indices from ind + ind_at: CPUs stream, and no barrier or atomic is
 * needed.  found: three longs an item: least, greatest, position of the first negative index (n if none). */
__kernel void index_range(__global const INDEX *ind, ulong ind_at, ulong n, ulong span, __global long *found)
{
	const ulong t = get_global_id(0);
	const ulong from = min(t * span, n), to = min(from + span, n);
	long least = LONG_MAX, most = LONG_MIN;
	ulong bad = n;

	for (ulong i = from; i < to; i++) {
		const long x = ind[ind_at + i];

		least = min(least, x);
		most = max(most, x);
		if (x < 0 && bad == n)
			bad = i;
	}
	found[3 * t] = least;
	found[3 * t + 1] = most;
	found[3 * t + 2] = (long)bad;
}
