/* SPDX-License-Identifier: MIT */
/* Thresholds as keys of selection (sparse/select.h). */
#ifndef TOPK_MAGNITUDE_H
#define TOPK_MAGNITUDE_H

#include <choir/types.h>

/* magnitude_key: of the least value of the dtype that is not below a threshold >= 0.
 * magnitude_value: the value of a key; NaN for one beyond infinity. */
uint64_t magnitude_key(choir_dtype dtype, double threshold);
double magnitude_value(choir_dtype dtype, uint64_t key);

#endif
