/* SPDX-License-Identifier: MIT */
/* scan and exscan: rank r's result is the left fold, in rank order, of the inputs of ranks 0 .. prefix_end - 1. */
#ifndef ALGO_PREFIX_H
#define ALGO_PREFIX_H

#include "algo/algo.h"

/* prefix_end: the number of ranks whose inputs go into the result of that rank; 0: it has none (exscan, rank 0). */
static inline int prefix_end(const struct algo_in *in, int rank)
{
	return in->collective == COLLECTIVE_SCAN ? rank + 1 : rank;
}

#endif
