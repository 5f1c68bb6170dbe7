/* SPDX-License-Identifier: MIT */
/* Elements to reduce, and the list of shapes to reduce them in. */
#ifndef TESTS_KERN_INPUTS_H
#define TESTS_KERN_INPUTS_H

#include "kern/reduce.h"

/* inputs_fill: elements from a seed: every special value of the type, random bits, and small numbers. */
void inputs_fill(choir_dtype dtype, void *out, size_t count, uint64_t seed);

/* The counts and numbers of sources that are tested, few where quick_wanted; 0 ends inputs_sources, SIZE_MAX ends
 * inputs_counts. */
const size_t *inputs_counts(void);
const uint32_t *inputs_sources(void);

/* inputs_call: variation v of a reduction (raw_from, final, number of ranks and factor vary with it). */
struct reduce_call inputs_call(choir_dtype dtype, choir_op op, uint32_t n_src, size_t count, unsigned v);

#endif
