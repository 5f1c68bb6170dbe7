/* SPDX-License-Identifier: MIT */
/* Option: GROUP = work-items of a group. */
#ifndef GROUP_H
#define GROUP_H

/* The number of the work-group.  A job of more groups than a driver runs in one launch goes in several (dev_launch), in
 * each of which get_group_id() begins at 0 again. */
static ulong group_number(void)
{
	return get_global_id(0) / GROUP;
}

#endif
