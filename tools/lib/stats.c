/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <stdlib.h>

int stats_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The smallest value that at least `percent` of all do not exceed. */
static double nearest_rank(const double *sorted, size_t n, size_t percent)
{
	size_t rank = (n * percent + 99) / 100;

	return sorted[rank == 0 ? 0 : rank - 1];
}

struct stats stats_of(double *values, size_t n)
{
	struct stats s = { 0 };

	qsort(values, n, sizeof *values, stats_ascending);
	for (size_t i = 0; i < n; i++)
		s.mean += values[i] / (double)n;
	s.min = values[0];
	s.max = values[n - 1];
	s.p50 = (values[(n - 1) / 2] + values[n / 2]) / 2;
	s.p95 = nearest_rank(values, n, 95);
	s.p99 = nearest_rank(values, n, 99);
	return s;
}
