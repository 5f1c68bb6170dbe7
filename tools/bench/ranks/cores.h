/* SPDX-License-Identifier: MIT */
/* The cores that ranks run on.  Ranks that share one wait for each other's turn, and that is what a bench would
 * measure. */
#ifndef BENCH_CORES_H
#define BENCH_CORES_H

#include <sched.h>
#include <stdbool.h>

enum { CORES_WARNING_BYTES = 320 };

/* Where a rank runs. */
struct cores {
	char host[64];
	int online;    /* the machine's cores */
	cpu_set_t may; /* the cores that its thread may run on */
};

/* cores_mine: of the calling thread.  cores_pin: binds it to the rank-th of the cores that it may use, a hyperthread
 * only where whole cores have run out.  Does nothing where n ranks have fewer than n of them. */
struct cores cores_mine(void);
void cores_pin(int rank, int n);

/* cores_warning: whether two of n ranks may run on one core; text: which, and what to do about it. */
bool cores_warning(const struct cores *ranks, int n, char text[CORES_WARNING_BYTES]);

#endif
