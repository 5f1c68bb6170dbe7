/* SPDX-License-Identifier: MIT */
/* choir as a contender. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "contender.h"
#include "bench/cases/job.h"

/* ours_open: NULL if there is no memory for the buffers.  job outlives it.  algorithm NULL = the rules decide; the name
 * is the caller's. */
struct contender *ours_open(const struct job *job, const char *algorithm);

/* ours_sibling: another algorithm in the same buffers.  NULL if there is no memory. */
struct contender *ours_sibling(struct contender *ours, const char *algorithm);

/* ours_fits: makes one call; false, on all ranks, if its algorithm cannot do the job or the library took another.
 * Collective. */
bool ours_fits(struct contender *ours);

/* ours_algorithm, ours_wire_bytes: what the first call ran and sent to other nodes. */
const char *ours_algorithm(const struct contender *ours);
uint64_t ours_wire_bytes(const struct contender *ours);

/* ours_call: a call with --timeout and, unless NULL, that algorithm; options holds the text it leads into. */
enum { OURS_OPTIONS_BYTES = 128 };
choir_call ours_call(const struct args *args, choir_op op, const char *algorithm, char options[OURS_OPTIONS_BYTES]);

/* ours_failed: says the sentence and gives the exit status of a failed call. */
int ours_failed(const struct job *job, const char *what, choir_status st, const char *sentence);

#endif
