/* SPDX-License-Identifier: MIT */
#include "exec/thread.h"

#include <stdatomic.h>

static _Thread_local struct {
	int callbacks, groups;
} depth; /* of what this thread is in */

static _Thread_local uint64_t mine; /* 0: none yet */

static uint64_t new_number(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

uint64_t this_thread(void)
{
	if (mine == 0)
		mine = new_number();
	return mine;
}

uint64_t thread_enter_work(void)
{
	uint64_t before = mine;

	mine = new_number();
	return before;
}

void thread_leave_work(uint64_t before)
{
	mine = before;
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
	return depth.groups > 0 && depth.callbacks == 0;
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
