/* SPDX-License-Identifier: MIT */
/* Rows that change nothing when they are folded in, for the algorithms that send dense rows. */
#ifndef SPARSE_IDENTITY_H
#define SPARSE_IDENTITY_H

#include <choir/types.h>

/* identity_fill: n elements e with the bits of fold(e, a) and of fold(a, e) those of a, whatever a is: a sum's is the
 * negative zero.  Of a caller's operator such an e is not known: zeros, which sparse_fold does not read. */
void identity_fill(choir_dtype dtype, choir_op op, void *to, uint64_t n);

#endif
