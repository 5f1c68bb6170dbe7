/* SPDX-License-Identifier: MIT */
/* The first function that knows an error sets its status and sentence together: return error_set(CHOIR_ARGUMENT, "...",
 * ...). */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <choir/types.h>

#define ERROR_TEXT_BYTES 512

/* Returns the status of expr from the calling function unless it is SUCCESS.  The only control-flow macro. */
#define TRY(expr)                                                                                                      \
	do {                                                                                                           \
		choir_status try_st_ = (expr);                                                                         \
		if (try_st_ != CHOIR_SUCCESS)                                                                          \
			return try_st_;                                                                                \
	} while (0)

/* error_set: makes the sentence this thread's last error and returns status.  Any thread; never blocks. */
choir_status error_set(choir_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* error_prefix: puts a formatted text and ": " before this thread's last error; returns status. */
choir_status error_prefix(choir_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of a caller's name, with its end, as far as sentences about runs have it. */
enum { CALL_NAME_BYTES = 32 };

/* error_named: puts the caller's name of a failed call, in quotes, before this thread's last error, unless that holds
 * it; returns status.  SUCCESS, or name NULL or "": does nothing. */
choir_status error_named(choir_status status, const char *name);

/* error_text_named: the same of a sentence that is no thread's last error: the text, or what it has become in out. */
const char *error_text_named(const char *text, const char *name, char out[ERROR_TEXT_BYTES]);

/* error_no_memory: NO_MEMORY; what: the thing that needed the bytes, "a plan". */
choir_status error_no_memory(const char *what, size_t bytes);

/* error_errno: the sentence of a failed system call: what, then strerror(errno). */
choir_status error_errno(choir_status status, const char *what);

/* error_text: this thread's last error; never NULL. */
const char *error_text(void);

#endif
