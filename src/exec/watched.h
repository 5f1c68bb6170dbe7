/* SPDX-License-Identifier: MIT */
/* Jobs of threads that wait, during which the background thread looks at the clock.
 *
 * Note [watched jobs].  A thread that waits may do a job, or stand in a build of kernels that its run needs, and be the
 * only one that looked at the clock.  So the background thread does so for as long as that lasts, in turns of CHECK_MS,
 * and fails the comm at the deadline; meanwhile it drives the other comms.  The first job wakes it; it rests for good
 * once a turn has passed in which no job began, so jobs that follow each other wake it once.  Jobs that are passed on
 * are work that it waits for anyway, and a build in which it stands itself holds up the rest. */
#ifndef EXEC_WATCHED_H
#define EXEC_WATCHED_H

#include <stdbool.h>

/* watched_begin, watched_end: around a job; loop: that of the background thread.  Where it cannot be started no thread
 * looks at the clock until the job is over. */
void watched_begin(void (*loop)(unsigned life));
void watched_end(void);

/* watched_is_needed: is there a job, or has one begun since the last look?  Under comm_list_lock. */
bool watched_is_needed(void);

/* watched_stop: the background thread ends.  watched_forget: in a forked child, which has no job. */
void watched_stop(void);
void watched_forget(void);

#endif
