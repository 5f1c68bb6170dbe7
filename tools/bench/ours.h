/* SPDX-License-Identifier: MIT */
/* choir as a contender. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "contender.h"
#include "job.h"

/* ours_open: NULL if there is no memory for the buffers.  job outlives it. */
struct contender *ours_open(const struct job *job);

/* ours_algorithm, ours_wire_bytes: what the first call ran and sent to other nodes. */
const char *ours_algorithm(const struct contender *ours);
uint64_t ours_wire_bytes(const struct contender *ours);

/* ours_call: the call that --algorithm and --timeout ask for; options holds the text it leads into. */
enum { OURS_OPTIONS_BYTES = 128 };
choir_call ours_call(const struct args *args, char options[OURS_OPTIONS_BYTES]);

/* ours_failed: says the sentence and gives the exit status of a failed call. */
int ours_failed(const struct job *job, const char *what, choir_status st, const char *sentence);

#endif
