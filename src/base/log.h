/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <choir/types.h>
#include <stdatomic.h>
#include <stdbool.h>

enum log_level { LOG_ERROR = 0, LOG_WARNING = 1, LOG_INFO = 2, LOG_DEBUG = 3 };

/* log_text: one line to the caller's log function; where there is none, to the file that CHOIR_LOG names, if it asks
 * for that level.  Any thread, but never with a lock held that the caller's function could need: it must not call
 * choir. */
void log_text(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_wants_calls: does anybody want a line for every call?  One load and one branch where nobody does. */
extern _Atomic bool log_calls_wanted;
static inline bool log_wants_calls(void)
{
	return __builtin_expect(atomic_load_explicit(&log_calls_wanted, memory_order_relaxed), false);
}

/* log_start: reads CHOIR_LOG, once.  Comms and devices call it when they are made. */
void log_start(void);

#endif
