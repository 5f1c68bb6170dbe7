/* SPDX-License-Identifier: MIT */
/* scan_group: exclusive prefix sums of a short array, in place, by one work-group.
 * Options: GROUP = work-items of the group. */
#ifndef GROUP
#error "GROUP: work-items of the group"
#endif

#include "group_sum.h"

/* total[0] = the sum of all n.  The group goes through them in blocks in which each item owns `each` neighbours.  One
 * group only: groups cannot wait for each other. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_group(__global uint *data, uint n, uint each, __global uint *total)
{
	__local uint sums[GROUP];
	const uint t = group_item();
	uint below = 0; /* sum of the blocks before this one */

	for (uint block = 0; block < n; block += GROUP * each) {
		const uint from = min(block + t * each, n), to = min(from + each, n);
		uint sum = 0, all;

		for (uint i = from; i < to; i++)
			sum += data[i];
		sum = below + group_sum_before(sum, sums, &all);
		for (uint i = from; i < to; i++) {
			const uint here = data[i];

			data[i] = sum;
			sum += here;
		}
		below += all;
	}
	if (t == 0)
		total[0] = below;
}
