/* SPDX-License-Identifier: MIT */
/* One coalescing by all routes, each against the plain reference, bit for bit. */
#ifndef TESTS_SPARSE_COALESCE_CASE_H
#define TESTS_SPARSE_COALESCE_CASE_H

#include "sparse/coalesce.h"
#include "sparse/reference.h"

/* CROWDED: most of them in the lowest part of the range, many of those twice. */
enum coalesce_order { RANDOM, SORTED, REVERSED, ALL_EQUAL, CROWDED };

struct coalesce_shape {
	const char *name;
	size_t n, width;
	uint64_t base, range; /* indices in [base, base + range) */
	enum coalesce_order order;
	uint32_t n_src; /* lists the pairs are dealt to */
};

void coalesce_case_make(const struct coalesce_shape *shape, choir_dtype dtype, bool specials, uint64_t seed,
                        struct reference_pairs *out);

/* coalesce_case_run: a job from beginning to end. */
void coalesce_case_run(struct coalesce *job, void *ind, struct index_form form, void *val);

/* coalesce_case_check: the routes that fit, of the host and, unless it is NULL, of the device; raw pairs and, if they
 * are few, coalesced lists. */
void coalesce_case_check(choir_device *device, const struct coalesce_shape *shape, choir_dtype dtype, choir_op op,
                         uint32_t ind_bytes, bool specials);

#endif
