/* SPDX-License-Identifier: MIT */
/* Where oktopk cuts the index range into regions.  Pure. */
#ifndef TOPK_CUT_H
#define TOPK_CUT_H

#include <stdint.h>

/* cut_average: votes[r * ranks + j] is where rank r would begin region j; bounds[j] = the mean, rounded down, for j =
 * 1 .. ranks - 1; bounds[0] = 0, bounds[ranks] = n.  No sum wraps, for any votes. */
void cut_average(const uint64_t *votes, uint64_t ranks, uint64_t n, uint64_t *bounds);

/* cut_even: where the r-th of `parts` even parts of n begins. */
uint64_t cut_even(uint64_t n, uint64_t r, uint64_t parts);

#endif
