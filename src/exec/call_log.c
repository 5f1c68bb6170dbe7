/* SPDX-License-Identifier: MIT */
#include "exec/call_log.h"

#include "exec/record.h"

#include "base/log.h"
#include "base/plural.h"
#include "base/wait.h"

#include <stdio.h>
#include <string.h>

/* "(1024 x f32, sum, oneshot)" says it already; a name that the record cuts off is said again. */
static bool says_algorithm(const char *called, const char *algorithm)
{
	const char *at = strrchr(called, '(');

	at = at != NULL ? strstr(at, algorithm) : NULL;
	return at != NULL && at[-1] == ' ' && strchr(",)", at[strlen(algorithm)]) != NULL;
}

void call_log(struct run *run, const char *path)
{
	double us = (double)(wait_now_ns() - run->log_start_ns) * 1e-3;
	const char *by = run->event->algorithm;
	uint64_t rows = run->bound.my_rows;
	char called[RUN_TEXT_BYTES], detail[64] = "";

	run->log_start_ns = 0;
	run_call_text(run, called, sizeof called);
	if (run->bound.pair)
		snprintf(detail, sizeof detail, " %s rank %d", run->bound.pair_sends ? "to" : "from",
		         run->bound.pair_peer);
	else if (rows != 0)
		snprintf(detail, sizeof detail, ", %llu row%s of %llu", (unsigned long long)rows, plural(rows),
		         (unsigned long long)(run->bound.my_count / rows));
	if (by[0] == '\0' || says_algorithm(called, by))
		log_text(LOG_DEBUG, "%s: rank %d: %s%s, %s: %s after %.1f us", run->comm->name, run->comm->rank, called,
		         detail, path, choir_status_name(run->status), us);
	else
		log_text(LOG_DEBUG, "%s: rank %d: %s%s by %s, %s: %s after %.1f us", run->comm->name, run->comm->rank,
		         called, detail, by, path, choir_status_name(run->status), us);
}
