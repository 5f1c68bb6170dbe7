/* SPDX-License-Identifier: MIT */
/* What must have become of the ranks of a trial. */
#ifndef TESTS_JUDGE_H
#define TESTS_JUDGE_H

#include "trials/trials.h"

/* judge_is_gone: a signal ended or stopped that rank for good.
 * judge_trial: true if every other rank did what it must; else `why` says what it did not.  *worst_ms as trial_run. */
bool judge_is_gone(const struct trial *trial, int rank);
bool judge_trial(const struct trial *trial, const struct table *table, int64_t *worst_ms, char *why, size_t bytes);

/* judge_fails: writes why; returns false. */
bool judge_fails(char *why, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
