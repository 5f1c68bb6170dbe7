/* SPDX-License-Identifier: MIT */
/* Where callers' callbacks run if choir_set_executor was called; else on the thread that completes the call, or on a
 * worker if that is the background thread. */
#ifndef EXEC_EXECUTOR_H
#define EXEC_EXECUTOR_H

#include <choir/event.h>
#include <stdbool.h>

/* executor_take: gives the work to the caller's executor; false: there is none, and nothing was done. */
bool executor_take(choir_work_fn work, void *arg);

#endif
