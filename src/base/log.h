/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <choir/types.h>

enum log_level { LOG_WARNING = 1, LOG_INFO = 2, LOG_DEBUG = 3 };

/* log_text: one line to the caller's log function, if there is one.  Any thread, but never with a lock held that the caller's function
 * could need: it must not call choir. */
void log_text(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
