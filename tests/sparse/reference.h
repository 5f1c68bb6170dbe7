/* SPDX-License-Identifier: MIT */
/* The plain reference of sparse allreduce: one element at a time, conversions and operators written apart from
 * cl/ops.h. */
#ifndef TESTS_SPARSE_REFERENCE_H
#define TESTS_SPARSE_REFERENCE_H

#include <choir/types.h>
#include <stdbool.h>

/* One rank's input, or a result. */
struct reference_pairs {
	int64_t *ind;
	unsigned char *val; /* count rows of width elements */
	size_t count;
};

/* reference_coalesce: ascending distinct indices; rows folded in input order.  raw, final, n_ranks as in struct
 * coalesce_call.  out is malloc'd. */
void reference_coalesce(const struct reference_pairs *in, size_t width, choir_dtype dtype, choir_op op, bool raw,
                        bool final, int n_ranks, struct reference_pairs *out);

/* reference_allreduce: each rank coalesced (rounded once), then all in rank order (rounded once). */
void reference_allreduce(const struct reference_pairs *ranks, int n_ranks, size_t width, choir_dtype dtype, choir_op op,
                         struct reference_pairs *out);

/* The same for every way in which sparse_allreduce may be asked. */
struct reference_call {
	const struct reference_pairs *ranks;
	int n_ranks;
	size_t width;
	choir_dtype dtype;
	choir_op op;
	int mode;              /* choir_coalesce */
	int wire;              /* choir_sparse_wire */
	const double *factors; /* [n_ranks] of premul_sum */
	bool pairwise;         /* rows of an index are grouped as recursive doubling groups them */
};
void reference_call(const struct reference_call *call, struct reference_pairs *out);

void reference_free(struct reference_pairs *pairs);

/* reference_random: fills n elements with values that show rounding, wrapping, signed zeros; no NaN unless specials. */
void reference_random(uint64_t *seed, choir_dtype dtype, bool specials, void *to, size_t n);

uint64_t reference_next(uint64_t *seed);

/* reference_same: equal bits, any NaN equal to any NaN.  *at = first difference. */
bool reference_same(choir_dtype dtype, const void *a, const void *b, size_t n, size_t *at);

#endif
