/* SPDX-License-Identifier: MIT */
#include "exec/call_log.h"

#include "exec/record.h"

#include "base/log.h"
#include "base/wait.h"

void call_log(struct run *run, const char *path)
{
	double us = (double)(wait_now_ns() - run->log_start_ns) * 1e-3;
	char called[RUN_TEXT_BYTES];

	run->log_start_ns = 0;
	run_call_text(run, called, sizeof called);
	log_text(LOG_DEBUG, "%s: rank %d: %s, %s: %s after %.1f us", run->comm->name, run->comm->rank, called, path,
	         choir_status_name(run->status), us);
}
