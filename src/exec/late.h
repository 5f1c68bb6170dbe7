/* SPDX-License-Identifier: MIT */
/* Which rank makes a call late, and the sentence that names it.  The driver only. */
#ifndef EXEC_LATE_H
#define EXEC_LATE_H

#include "exec/run.h"

/* late_waited_ms: how long the run has waited since its deps are done, or since it was first looked at. */
int64_t late_waited_ms(const struct run *run, int64_t now);

/* late_silence_ns: a call has waited for that time; a rank that has given no sign for how long counts as stopped? */
int64_t late_silence_ns(int64_t waited_ms);

/* late_most_silent: of the ranks that the run waits for now the one that has been silent for longest; -1: none. */
int late_most_silent(struct run *run, int64_t now);

/* late_say: a sentence that names the run's call and the rank that is late. */
void late_say(struct run *run, int64_t now, double seconds, char *text, size_t bytes);

#endif
