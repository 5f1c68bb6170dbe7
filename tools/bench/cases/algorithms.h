/* SPDX-License-Identifier: MIT */
/* Which algorithms the library has for a collective, by what choir_comm_json says. */
#ifndef BENCH_ALGORITHMS_H
#define BENCH_ALGORITHMS_H

#include "job.h"

enum { ALGORITHMS_MAX = 64, ALGORITHMS_NAME_BYTES = 48 };

struct algorithms {
	char name[ALGORITHMS_MAX][ALGORITHMS_NAME_BYTES];
	int n;
};

/* algorithms_of: those named in a list with commas; all if it is NULL or "all".  false if the library does not say or
 * has none of a name, which has been said. */
bool algorithms_of(choir_comm *comm, const struct collective_row *what, const char *wanted, struct algorithms *out);

#endif
