/* SPDX-License-Identifier: MIT */
#include "exec/call_log.h"

#include "base/log.h"

#include <time.h>

/* On the clock of wait_now_ns, which stands above this file. */
static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void call_log(struct run *run, const char *path)
{
	double us = (double)(now_ns() - run->begun_ns) * 1e-3;
	char called[RUN_TEXT_BYTES];

	run->begun_ns = 0;
	run_call_text(run, called, sizeof called);
	log_text(LOG_DEBUG, "%s: rank %d: %s, %s: %s after %.1f us", run->comm->name, run->comm->rank, called, path,
	         choir_status_name(run->status), us);
}
