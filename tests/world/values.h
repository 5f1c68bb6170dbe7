/* SPDX-License-Identifier: MIT */
/* Values that every dtype holds exactly and whose reductions are exact in any order; read and written through doubles
 * by code that shares nothing with the library. */
#ifndef TESTS_VALUES_H
#define TESTS_VALUES_H

#include <choir/types.h>

/* value_store, value_load: element i of an array of that dtype. */
void value_store(choir_dtype dtype, void *array, size_t i, double value);
double value_load(choir_dtype dtype, const void *array, size_t i);

/* value_factor: what choir_call's factor is for op: not 1 for a premultiplied sum. */
double value_factor(choir_op op);

/* value_input: what rank gives at element i of n ranks; value_reduced: what op makes of all ranks' (as the dtype shows
 * it). */
double value_input(choir_dtype dtype, choir_op op, int n, int rank, size_t i);
double value_reduced(choir_dtype dtype, choir_op op, int n, size_t i);

#endif
