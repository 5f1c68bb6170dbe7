/* SPDX-License-Identifier: MIT */
/* The calling thread: its number, and whether it is in a callback or a group. */
#ifndef EXEC_THREAD_H
#define EXEC_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* this_thread: the calling thread's number, not 0.  No other thread of the process has it, before or after.
 * thread_enter_work: from now on another one, as if a new thread did what an executor was given, which any thread of a
 * pool may; returns the one before, to which thread_leave_work goes back. */
uint64_t this_thread(void);
uint64_t thread_enter_work(void);
void thread_leave_work(uint64_t before);

/* in_callback: is this thread inside a caller's callback?  Blocking there is WOULD_DEADLOCK.  enter / leave bracket
 * each callback. */
bool in_callback(void);
void callback_enter(void);
void callback_leave(void);

/* group_is_open: on this thread, whose callbacks are outside of it.  enter / leave bracket each group; they nest.
 * in_callback_or_group: must a blocking call be refused or held back? */
bool group_is_open(void);
void group_enter(void);
void group_leave(void);
bool in_callback_or_group(void);

#endif
