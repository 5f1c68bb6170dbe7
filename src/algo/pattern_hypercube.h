/* SPDX-License-Identifier: MIT */
/* A hypercube over any n: the core has the largest power of two members; the n - core ranks too many are folded first:
 * of ranks 2i and 2i + 1, i < n - core, the odd one gives its data to the even one and gets the result from it. */
#ifndef ALGO_PATTERN_HYPERCUBE_H
#define ALGO_PATTERN_HYPERCUBE_H

#include <stdbool.h>

static inline int hypercube_core(int n)
{
	int core = 1;

	while (core <= n / 2)
		core *= 2;
	return core;
}

static inline bool hypercube_is_extra(int me, int n)
{
	return me < 2 * (n - hypercube_core(n)) && me % 2 == 1;
}

/* True if the core member with this id has an extra, whose data it folds in. */
static inline bool hypercube_has_folded(int id, int n)
{
	return id < n - hypercube_core(n);
}

/* A member's id in the core, and back. */
static inline int hypercube_id(int me, int n)
{
	int extra = n - hypercube_core(n);

	return me < 2 * extra ? me / 2 : me - extra;
}

static inline int hypercube_member(int id, int n)
{
	int extra = n - hypercube_core(n);

	return id < extra ? 2 * id : id + extra;
}

#endif
