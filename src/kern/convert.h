/* SPDX-License-Identifier: MIT */
/* Values of one dtype as values of another: the caller's, those that are accumulated, those that travel. */
#ifndef KERN_CONVERT_H
#define KERN_CONVERT_H

#include <choir/types.h>

/* convert_values: n values; the same dtype, or f32 to and from a narrow type (to nearest even).  out may be in where it
 * is no wider. */
void convert_values(choir_dtype to, void *out, choir_dtype from, const void *in, uint64_t n);

#endif
