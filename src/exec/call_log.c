/* SPDX-License-Identifier: MIT */
#include "exec/call_log.h"

#include "exec/record.h"

#include "base/log.h"
#include "base/wait.h"

#include <stdio.h>

void call_log(struct run *run, const char *path)
{
	double us = (double)(wait_now_ns() - run->log_start_ns) * 1e-3;
	const char *by = run->event->algorithm;
	char called[RUN_TEXT_BYTES], peer[32] = "";

	run->log_start_ns = 0;
	run_call_text(run, called, sizeof called);
	if (run->bound.pair)
		snprintf(peer, sizeof peer, " %s rank %d", run->bound.pair_sends ? "to" : "from", run->bound.pair_peer);
	log_text(LOG_DEBUG, "%s: rank %d: %s%s%s%s, %s: %s after %.1f us", run->comm->name, run->comm->rank, called,
	         peer, by[0] != '\0' ? " by " : "", by, path, choir_status_name(run->status), us);
}
