/* SPDX-License-Identifier: MIT */
/* index_range: the least and greatest index and the first negative one.
 * Options: INDEX = int or long, the type of the indices; GROUP = work-items of a group, a power of two. */
#ifndef INDEX
#error "INDEX: int or long"
#endif
#if !defined GROUP || GROUP < 1
#error "GROUP: work-items of a group"
#endif

#include "group_sum.h"

/* Group g reads one contiguous span of `span` indices from ind + ind_at: CPUs, with groups of one item, stream.  found:
 * four longs a group: least, greatest, position of the first negative index (n if none), that index. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void index_range(__global const INDEX *ind, ulong ind_at, ulong n, ulong span, __global long *found)
{
	__local long lows[GROUP], highs[GROUP];
	__local ulong bads[GROUP];
	const ulong g = group_number(), from = min(g * span, n), to = min(from + span, n);
	const uint t = group_item();
	long least = LONG_MAX, most = LONG_MIN;
	ulong bad = n;

	for (ulong i = from + t; i < to; i += GROUP) {
		const long x = ind[ind_at + i];

		least = min(least, x);
		most = max(most, x);
		if (x < 0 && bad == n)
			bad = i;
	}
	for (uint reach = GROUP / 2; reach > 0; reach /= 2) {
		lows[t] = least;
		highs[t] = most;
		bads[t] = bad;
		GROUP_BARRIER(); /* all have written before one reads */
		if (t < reach) {
			least = min(least, lows[t + reach]);
			most = max(most, highs[t + reach]);
			bad = min(bad, bads[t + reach]);
		}
		GROUP_BARRIER(); /* all have read before the next ones are written */
	}
	if (t == 0) {
		found[4 * g] = least;
		found[4 * g + 1] = most;
		found[4 * g + 2] = (long)bad;
		found[4 * g + 3] = bad < n ? ind[ind_at + bad] : 0;
	}
}
