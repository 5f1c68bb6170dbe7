/* SPDX-License-Identifier: MIT */
/* index_range: the least and greatest index and the first negative one.
 * Options: INDEX = int or long, the type of the indices. */
#ifndef INDEX
#error "INDEX: int or long"
#endif

/* Work-item t reads one contiguous span of `span` indices from ind + ind_at: CPUs stream, and no barrier or atomic is
 * needed.  found: four longs an item: least, greatest, position of the first negative index (n if none), that index. */
__kernel void index_range(__global const INDEX *ind, ulong ind_at, ulong n, ulong span, __global long *found)
{
	const ulong t = get_global_id(0);
	const ulong from = min(t * span, n), to = min(from + span, n);
	long least = LONG_MAX, most = LONG_MIN;
	long bad_index = 0;
	ulong bad = n;

	for (ulong i = from; i < to; i++) {
		const long x = ind[ind_at + i];

		least = min(least, x);
		most = max(most, x);
		if (x < 0 && bad == n) {
			bad = i;
			bad_index = x;
		}
	}
	found[4 * t] = least;
	found[4 * t + 1] = most;
	found[4 * t + 2] = (long)bad;
	found[4 * t + 3] = bad_index;
}
