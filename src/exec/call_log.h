/* SPDX-License-Identifier: MIT */
/* The log's line for a call (CHOIR_LOG=debug). */
#ifndef EXEC_CALL_LOG_H
#define EXEC_CALL_LOG_H

#include "exec/run.h"

/* call_log: logs the call of a run that has ended, its status and its time; path: "inline" if its caller executed all
 * of it, else "queued".  Clears run->log_start_ns. */
void call_log(struct run *run, const char *path);

#endif
