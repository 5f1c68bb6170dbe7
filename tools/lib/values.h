/* SPDX-License-Identifier: MIT */
/* Check data: small integers made from (seed, rank, index), so that every reduction is exact in any order and for every
 * dtype, and so that any rank can say what any other sent. */
#ifndef LIB_VALUES_H
#define LIB_VALUES_H

#include <choir/types.h>

#include <stdbool.h>

enum {
	VALUES_BLOCK = 1024,    /* elements at a time, small enough for the stack */
	VALUES_MOST_BYTES = 16, /* of an element */
	VALUES_OPS = 0          /* operators */
#define CHOIR_OP(name, number, text, about) +1
#include <choir/op.def>
#undef CHOIR_OP
};

struct values {
	choir_dtype dtype;
	choir_op op; /* CHOIR_OP_LOCAL for collectives that only move */
	uint32_t seed;
	int n_ranks;
};

/* values_of: elements first .. first+n-1 of that rank's data, n <= VALUES_BLOCK. */
void values_of(const struct values *v, int rank, size_t first, size_t n, int32_t *out);

/* values_op: which of the library's operators gives the same; the benchmark's own sums are sums. */
choir_op values_op(choir_op op);

/* values_factor: what a call with that operator is given as factor. */
double values_factor(choir_op op);

/* values_reduced: the same elements of the first `ranks` ranks, reduced; me is whose values CHOIR_OP_LOCAL keeps. */
void values_reduced(const struct values *v, int ranks, int me, size_t first, size_t n, int32_t *out);

/* values_encode: as elements of the dtype.  The numbers are exact in every dtype (|x| <= 256; integers wrap).  A
 * number becomes a pair by its upper bits, the value, and its lowest three, the index. */
void values_encode(choir_dtype dtype, const int32_t *in, size_t n, void *out);

#endif
