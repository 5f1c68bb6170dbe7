/* SPDX-License-Identifier: MIT */
/* scan_group: exclusive prefix sums of a short array, in place, by one work-group.
 * Options: GROUP = work-items of the group. */
#ifndef GROUP
#error "GROUP: work-items of the group"
#endif

/* total[0] = the sum of all n.  One group only: groups cannot wait for each other. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_group(__global uint *data, uint n, __global uint *total)
{
	__local uint sums[GROUP];
	const uint t = (uint)get_local_id(0), span = (n + GROUP - 1) / GROUP;
	const uint from = min(t * span, n), to = min(from + span, n);
	uint sum = 0;

	for (uint i = from; i < to; i++)
		sum += data[i];
	sums[t] = sum;
	barrier(CLK_LOCAL_MEM_FENCE); /* all sums are written before item 0 reads them */
	if (t == 0) {
		uint before = 0;

		for (uint i = 0; i < GROUP; i++) {
			const uint here = sums[i];

			sums[i] = before;
			before += here;
		}
		total[0] = before;
	}
	barrier(CLK_LOCAL_MEM_FENCE); /* the prefixes are written before each item reads its own */
	sum = sums[t];
	for (uint i = from; i < to; i++) {
		const uint here = data[i];

		data[i] = sum;
		sum += here;
	}
}
