/* SPDX-License-Identifier: MIT */
/* Threads that do what would hold up the background thread: one the long host work of scripts, one the callbacks where
 * there is no executor, since a callback may take as long as it likes.  Each is started by its first work and ends with
 * the last comm. */
#ifndef EXEC_WORKER_H
#define EXEC_WORKER_H

#include <stdbool.h>

enum worker_kind { WORKER_JOBS, WORKER_CALLBACKS, WORKERS };

/* worker_take: that thread will do the work, one after another; false: it cannot, and nothing was done. */
bool worker_take(enum worker_kind kind, void (*work)(void *), void *arg);

/* worker_withdraw: takes back a work that has not begun; false: it is under way, or done. */
bool worker_withdraw(enum worker_kind kind, void (*work)(void *), void *arg);

/* worker_end: they end once they have done all; no comm is left.  Waits for them. */
void worker_end(void);

#endif
