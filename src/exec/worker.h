/* SPDX-License-Identifier: MIT */
/* A thread that does what would hold up the background thread: the long host work of scripts, and callbacks where there
 * is no executor.  It is started by the first work and ends with the last comm. */
#ifndef EXEC_WORKER_H
#define EXEC_WORKER_H

#include <stdbool.h>

/* worker_take: the thread will do the work, one after another; false: it cannot, and nothing was done. */
bool worker_take(void (*work)(void *), void *arg);

/* worker_end: it ends once it has done all; no comm is left.  Waits for it. */
void worker_end(void);

#endif
