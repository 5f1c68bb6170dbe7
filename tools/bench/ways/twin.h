/* SPDX-License-Identifier: MIT */
/* Choir once more, on a job of its own that differs in one thing: the comm, or the operator. */
#ifndef BENCH_TWIN_H
#define BENCH_TWIN_H

#include "ours.h"

/* twin_open: of that job, which is copied.  leave: called when it is closed; NULL = nothing.  NULL if there is no
 * memory; leave is not called then. */
struct contender *twin_open(const struct job *job, const char *name, void (*leave)(void));

#endif
