/* SPDX-License-Identifier: MIT */
/* Counts and displacements, as v-collectives take them, in bytes. */
#ifndef API_VECTOR_H
#define API_VECTOR_H

#include "api/call.h"

enum { VECTOR_FEW = 16 };

/* The blocks of one buffer.  Not to be moved: its numbers may lie in it. */
struct vector {
	uint64_t *bytes, *off;        /* [n] */
	uint64_t total;               /* of all blocks */
	uint64_t extent;              /* where the last one ends */
	uint64_t hash;                /* of the counts */
	uint64_t few[2 * VECTOR_FEW]; /* where n is not larger, so that a small call allocates nothing */
};

/* vector_read: counts (what: the argument's name) of n ranks and where their blocks lie (displacements NULL = packed).
 * ARGUMENT: null counts; beyond 2^63 bytes, naming the rank.
 * vector_fini: {0} is silent. */
choir_status vector_read(const char *call, const char *what, int n, uint64_t elem_bytes, const size_t *counts,
                         const size_t *displacements, struct vector *out);
void vector_fini(struct vector *vector);

/* vector_apart: no two blocks overlap: the result would depend on who came last. */
choir_status vector_apart(const char *call, int n, const struct vector *vector);

#endif
