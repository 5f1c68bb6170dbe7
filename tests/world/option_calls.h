/* SPDX-License-Identifier: MIT */
/* Calls with options: right, and by which algorithm. */
#ifndef TESTS_OPTION_CALLS_H
#define TESTS_OPTION_CALLS_H

#include "world/world.h"

enum { SHORT = 300, LONG = 40000 }; /* elements */

choir_call with_options(const char *options);

/* run_one: an allreduce (which = 0), reduce_scatter (1) or allgather (2) of `count` elements a rank; the algorithm's
 * name. */
const char *run_one(struct world *world, int rank, choir_comm *comm, int which, size_t count, const char *options);

bool same(const char *a, const char *b);

#endif
