/* SPDX-License-Identifier: MIT */
/* Every allocation of the library fails once, a world of its own for each: see test_no_memory.c. */
#ifndef TESTS_SWEEP_H
#define TESTS_SWEEP_H

#include <choir/choir.h>
#include <stdbool.h>

enum { SWEEP_RANKS = 2 };

/* What the ranks do while an allocation fails.  CHOIR_ARGUMENT: a result was wrong. */
typedef choir_status (*act_fn)(choir_comm *comm, int rank);

struct sweep {
	act_fn act;      /* NULL: what fails is of creating and destroying */
	unsigned stride; /* one of so many allocations fails, unless CHOIR_TEST_LONG is set: then each */
	bool may_leave;  /* memory that a failed peer reads is never freed */
};

/* sweep_run: all ranks on one node, and each on its own. */
void sweep_run(const struct sweep *sweep);

#endif
