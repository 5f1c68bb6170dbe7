/* SPDX-License-Identifier: MIT */
/* Whether two ways of summing a sparse gradient came to the same. */
#ifndef TRAIN_SUMS_H
#define TRAIN_SUMS_H

#include <stddef.h>
#include <stdint.h>

/* n words, and a row of floats for each. */
struct sums {
	const int32_t *index;
	const float *rows;
	size_t n;
};

enum sums_verdict {
	SUMS_SAME,    /* bit for bit */
	SUMS_ROUNDED, /* the same words; values as they may come out where floats are added in another order */
	SUMS_WRONG,
};

/* sums_compare: *off_p = the largest difference, over the largest value of want; infinity where there is none to
 * tell. */
enum sums_verdict sums_compare(const struct sums *want, const struct sums *got, size_t width, double *off_p);

#endif
