/* SPDX-License-Identifier: MIT */
/* Rows of one index become one row, on the host: what who has no sparse collective writes by hand. */
#ifndef TRAIN_MERGE_H
#define TRAIN_MERGE_H

#include "fail.h"

#include <stdint.h>

struct merger {
	int32_t *place; /* [n_words]: where a word's row is in the output, -1 = nowhere yet */
};

/* merger_init: for indices below n_words.  merger_fini: a zeroed merger is fine. */
choir_status merger_init(struct merger *merger, size_t n_words);
void merger_fini(struct merger *merger);

/* merger_run: sums rows of equal index in input order; words come out in the order of their first row.  Returns how
 * many.  In and out are apart; out has room for n rows or for as many as there are words. */
size_t merger_run(struct merger *merger, const int32_t *index, const float *rows, size_t n, size_t width,
                  int32_t *out_index, float *out_rows);

#endif
