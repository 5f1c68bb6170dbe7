/* SPDX-License-Identifier: MIT */
/* What a series of times comes to. */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include <stddef.h>

struct stats {
	double min, p50, p95, p99, max, mean;
};

/* stats_of: sorts the n >= 1 values in place.  Percentiles are values that occurred (nearest rank); p50 of an even n is
 * the mean of the two in the middle. */
struct stats stats_of(double *values, size_t n);

/* stats_ascending: compares two doubles, for qsort. */
int stats_ascending(const void *a, const void *b);

#endif
