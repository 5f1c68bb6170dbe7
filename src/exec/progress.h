/* SPDX-License-Identifier: MIT */
/* The threads that drive the engines: threads that wait, and one background thread a process for calls without a
 * waiter. */
#ifndef EXEC_PROGRESS_H
#define EXEC_PROGRESS_H

#include "base/wait.h"
#include "exec/event.h"

#include <stdint.h>

/* progress_add, progress_remove: a comm whose engine is to be driven.  The last one to go stops the background
 * thread. */
choir_status progress_add(struct choir_comm *comm);
void progress_remove(struct choir_comm *comm);

/* progress_kick: a call was submitted for which perhaps no thread waits: the background thread drives it.  Starts it at
 * first use. */
choir_status progress_kick(void);

/* progress_wait: drives until the event is complete; false if timeout_ms (negative: none) passed first. */
bool progress_wait(choir_event *event, int64_t timeout_ms);

/* progress_while: drives as long as the comm is busy; false if timeout_ms (negative: none) passed first. */
bool progress_while(bool (*busy)(struct choir_comm *), struct choir_comm *comm, int64_t timeout_ms);

#endif
