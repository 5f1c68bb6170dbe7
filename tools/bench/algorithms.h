/* SPDX-License-Identifier: MIT */
/* Which algorithms the library has for a collective, by what choir_comm_json says. */
#ifndef BENCH_ALGORITHMS_H
#define BENCH_ALGORITHMS_H

#include "cases.h"

enum { ALGORITHMS_MAX = 64, ALGORITHMS_NAME_BYTES = 48 };

struct algorithms {
	char name[ALGORITHMS_MAX][ALGORITHMS_NAME_BYTES];
	int n;
};

/* algorithms_of: false if the library does not say, which has been said. */
bool algorithms_of(choir_comm *comm, const struct bench_case *what, struct algorithms *out);

#endif
