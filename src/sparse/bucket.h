/* SPDX-License-Identifier: MIT */
/* Buckets: scalar pairs grouped by the upper bits of their index.  A bucket is reduced in the second cache: each of
 * its indices has a cell, and a bitmap gives the indices in order, so nothing is sorted or searched.
 *
 * A rank groups its raw pairs (bucket_split); the owner of a bucket reduces the groups of all ranks (bucket_reduce).
 * It reduces the values that one rank has for an index in their order, rounds to the dtype, and then goes from rank to
 * rank: the bits are those of coalescing first and merging then. */
#ifndef SPARSE_BUCKET_H
#define SPARSE_BUCKET_H

#include "base/error.h"
#include "sparse/pairs.h"

#include <stdbool.h>

#define BUCKET_MOST_SHIFT 16 /* a key is the index within its bucket: 16 bits */

/* Bucket b holds the indices lo + (b << shift) .. lo + (b + 1 << shift) - 1. */
struct bucket_shape {
	int64_t lo;
	unsigned shift;
	uint32_t n;
};

/* One rank's pairs, grouped: those of bucket b are start[b] .. start[b + 1] - 1, in their order. */
struct bucket_list {
	const uint32_t *start; /* [n + 1] */
	const uint16_t *key;
	const unsigned char *val;
	bool raw; /* val are the caller's own values: square_add squares them */
};

struct bucket_reduction {
	struct bucket_shape shape;
	choir_dtype dtype;
	choir_op op;
	int n_ranks;
	const struct bucket_list *lists; /* [n_lists], in rank order */
	int n_lists;
};

/* bucket_fits: may so many pairs (of all ranks) in a non-empty range be reduced this way without more work for empty
 * cells than for pairs? */
bool bucket_fits(struct index_range range, uint64_t pairs);

/* bucket_shape_of: for a range that fits, shared by so many ranks. */
struct bucket_shape bucket_shape_of(struct index_range range, int n_ranks);

/* bucket_list_bytes: of the grouped form of n < 2^32 pairs. */
uint64_t bucket_list_bytes(const struct bucket_shape *shape, uint64_t n, uint64_t elem_bytes);

/* bucket_list_at: the grouped form in a block of that many bytes. */
struct bucket_list bucket_list_at(const struct bucket_shape *shape, const void *block, uint64_t n, bool raw);

/* bucket_split: groups pairs, all in the shape's range, into a block of bucket_list_bytes.  NO_MEMORY. */
choir_status bucket_split(const struct bucket_shape *shape, const struct pairs *pairs, uint64_t elem_bytes,
                          void *block);

/* bucket_bounds: the buckets of rank r of n: [*from_p, *end_p), about a n-th of the work; in rank order; the same
 * arithmetic on every rank. */
void bucket_bounds(const struct bucket_reduction *todo, int r, int n, uint32_t *from_p, uint32_t *end_p);

/* bucket_pairs: of all lists in buckets [from, end). */
uint64_t bucket_pairs(const struct bucket_reduction *todo, uint32_t from, uint32_t end);

/* bucket_most: pairs that buckets [from, end) can give at most. */
uint64_t bucket_most(const struct bucket_reduction *todo, uint32_t from, uint32_t end);

/* bucket_reduce: buckets [from, end) to ascending indices in the given form and finished values.  Room for bucket_most
 * pairs.  NO_MEMORY. */
choir_status bucket_reduce(const struct bucket_reduction *todo, uint32_t from, uint32_t end, void *ind,
                           struct index_form form, void *val, uint64_t *count_p);

#endif
