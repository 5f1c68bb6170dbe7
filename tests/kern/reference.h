/* SPDX-License-Identifier: MIT */
/* Reductions computed element by element in the plainest way, without cl/ops.h: what host twins and kernels are
 * compared to. */
#ifndef TESTS_KERN_REFERENCE_H
#define TESTS_KERN_REFERENCE_H

#include "kern/reduce.h"

void reference_reduce(const struct reduce_call *call, void *dst, const void *const *src);

/* The double a 16-bit float stands for, and the 16-bit float nearest to a double. */
double reference_from_f16(uint16_t bits);
uint16_t reference_to_f16(double value);
uint16_t reference_to_bf16(double value);

/* The same for f8e4m3 and f8e5m2. */
double reference_from_f8(choir_dtype dtype, uint8_t bits);
uint8_t reference_to_f8(choir_dtype dtype, double value);

/* Are two elements equal: all bits, except that a NaN equals any NaN? */
bool reference_same(choir_dtype dtype, const void *a, const void *b);

/* reference_assert: fails the test, naming what it was and the element, if any differs. */
void reference_assert(const struct reduce_call *call, const unsigned char *got, const unsigned char *want,
                      const char *what);

bool reference_is_float(choir_dtype dtype);
bool reference_is_narrow(choir_dtype dtype); /* accumulates in f32 */
bool reference_is_pair(choir_dtype dtype);

#endif
