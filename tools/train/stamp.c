/* SPDX-License-Identifier: MIT */
#include "stamp.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

int64_t stamp_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void stamp_clear(struct stamp *stamp)
{
	atomic_store(&stamp->ns, 0);
}

void stamp_now(struct stamp *stamp)
{
	atomic_store(&stamp->ns, stamp_clock());
}

static void CL_CALLBACK ended(cl_event event, cl_int status, void *stamp)
{
	(void)event;
	(void)status;
	stamp_now(stamp);
}

choir_status stamp_on(struct stamp *stamp, cl_event event)
{
	cl_int rc;

	stamp_clear(stamp);
	rc = clSetEventCallback(event, CL_COMPLETE, ended, stamp);
	return rc ? fail_cl("clSetEventCallback", rc) : CHOIR_SUCCESS;
}

int64_t stamp_wait(struct stamp *stamp)
{
	int64_t ns;

	while (!(ns = atomic_load(&stamp->ns)))
		sched_yield();
	return ns;
}
