/* SPDX-License-Identifier: MIT */
/* group_sum_before: sums over the work-items of a group, in the order of group_item().
 *
 * Options: GROUP = work-items of a group, a power of two; SUB_GROUPS if the device sums over sub-groups: two barriers,
 * whatever the size of the group (src/dev/program.c sets it: Note [sub-groups] in src/dev/facts.c). */
#include "group.h"

#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef cl_intel_subgroups
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif

#if GROUP > 1
#define GROUP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#else
#define GROUP_BARRIER() /* a group of one item needs none */
#endif

/* The number of the work-item in its group.  OpenCL lets a driver deal local ids to sub-groups as it likes. */
static uint group_item(void)
{
#if GROUP == 1
	return 0;
#elif defined SUB_GROUPS
	return get_sub_group_id() * get_max_sub_group_size() + get_sub_group_local_id();
#else
	return (uint)get_local_id(0);
#endif
}

/* The sum of `mine` of the items before this one; *all_p: of all items.  sums: GROUP numbers, free again at the end. */
static uint group_sum_before(uint mine, __local uint *sums, uint *all_p)
{
#if GROUP == 1
	(void)sums;
	*all_p = mine;
	return 0;
#elif defined SUB_GROUPS
	const uint s = get_sub_group_id(), n = get_num_sub_groups();
	uint before = sub_group_scan_exclusive_add(mine), all = 0;

	if (get_sub_group_local_id() + 1 == get_sub_group_size())
		sums[s] = before + mine;
	GROUP_BARRIER(); /* each sub-group's sum is written before an item adds them up */
	for (uint k = 0; k < n; k++) {
		before += k < s ? sums[k] : 0;
		all += sums[k];
	}
	GROUP_BARRIER(); /* all items have read before the next sums are written */
	*all_p = all;
	return before;
#else
	const uint t = group_item();
	uint upto = mine;

	sums[t] = upto;
	for (uint step = 1; step < GROUP; step *= 2) {
		GROUP_BARRIER(); /* the sums of the previous step are written */
		const uint below = t >= step ? sums[t - step] : 0;
		GROUP_BARRIER(); /* all items have read before one writes */
		upto += below;
		sums[t] = upto;
	}
	GROUP_BARRIER(); /* the last sums are written */
	*all_p = sums[GROUP - 1];
	GROUP_BARRIER(); /* all items have read the total before the next sums are written */
	return upto - mine;
#endif
}
