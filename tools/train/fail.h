/* SPDX-License-Identifier: MIT */
/* A tool may print: the first function that knows an error says it, once, and returns its status; callers only TRY. */
#ifndef TRAIN_FAIL_H
#define TRAIN_FAIL_H

#include <choir/types.h>
#include <stddef.h>

/* Returns the status of expr from the calling function unless it is SUCCESS. */
#define TRY(expr)                                                                                                      \
	do {                                                                                                           \
		choir_status try_st_ = (expr);                                                                         \
		if (try_st_ != CHOIR_SUCCESS)                                                                          \
			return try_st_;                                                                                \
	} while (0)

/* failure: "choir-train: rank R: sentence" to stderr; returns status. */
choir_status failure(choir_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* fail_cl: an OpenCL call returned rc.  fail_choir: a choir call did, and choir_last_error says why. */
choir_status fail_cl(const char *call, int rc);
choir_status fail_choir(const char *call, choir_status status);

/* fail_memory: no memory for something of that many bytes. */
choir_status fail_memory(const char *what, size_t bytes);

/* fail_rank: the rank that this thread's sentences name; none until it is set. */
void fail_rank(int rank);

#endif
