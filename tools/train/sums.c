/* SPDX-License-Identifier: MIT */
#include "sums.h"

#include <math.h>
#include <string.h>

#define MOST_OFF 1e-5 /* a few thousand f32 additions */

/* Infinity if a value is none. */
static double largest_difference(const float *want, const float *got, size_t n)
{
	double difference = 0, largest = 0;

	for (size_t i = 0; i < n; i++) {
		double one = fabs((double)want[i] - got[i]);

		if (isnan(one))
			return INFINITY;
		difference = fmax(difference, one);
		largest = fmax(largest, fabs(want[i]));
	}
	return difference > 0 ? difference / largest : 0;
}

enum sums_verdict sums_compare(const struct sums *want, const struct sums *got, size_t width, double *off_p)
{
	size_t n = want->n * width;

	*off_p = INFINITY;
	if (want->n != got->n || memcmp(want->index, got->index, want->n * sizeof *want->index) != 0)
		return SUMS_WRONG;
	*off_p = largest_difference(want->rows, got->rows, n);
	if (memcmp(want->rows, got->rows, n * sizeof *want->rows) == 0)
		return SUMS_SAME;
	return *off_p <= MOST_OFF ? SUMS_ROUNDED : SUMS_WRONG;
}
