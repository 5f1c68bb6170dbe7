/* SPDX-License-Identifier: MIT */
#include "exec/thread.h"

#include <stdatomic.h>

static _Thread_local struct {
	int callbacks, groups;
} depth; /* of what this thread is in */

uint64_t this_thread(void)
{
	static _Atomic uint64_t last;
	static _Thread_local uint64_t mine;

	if (mine == 0)
		mine = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	return mine;
}

bool in_callback(void)
{
	return depth.callbacks > 0;
}

void callback_enter(void)
{
	depth.callbacks++;
}

void callback_leave(void)
{
	depth.callbacks--;
}

bool group_is_open(void)
{
	return depth.groups > 0;
}

void group_enter(void)
{
	depth.groups++;
}

void group_leave(void)
{
	depth.groups--;
}

bool in_callback_or_group(void)
{
	return depth.callbacks + depth.groups > 0;
}
