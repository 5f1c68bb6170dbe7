/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <choir/types.h>
#include <stdatomic.h>
#include <stdbool.h>

enum log_level { LOG_ERROR = 0, LOG_WARNING = 1, LOG_INFO = 2, LOG_DEBUG = 3 };

/* log_text: gives one line to the caller's log function, or without one to the file that CHOIR_LOG names, if the level
 * is included.  Any thread.  The caller's function runs inside, so no lock that it could need may be held. */
void log_text(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_wants_calls: true if every call is to be logged (CHOIR_LOG=debug).  One load and one branch. */
extern _Atomic bool log_calls_wanted;
static inline bool log_wants_calls(void)
{
	return __builtin_expect(atomic_load_explicit(&log_calls_wanted, memory_order_relaxed), false);
}

/* log_start: reads CHOIR_LOG, once a process.  The calls that create comms and devices call it. */
void log_start(void);

#endif
