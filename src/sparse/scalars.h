/* SPDX-License-Identifier: MIT */
/* Scalars: a rank reduces the pairs of width 1 that few ranks have in its part of the range, unsorted and with
 * duplicates.  For parts whose bitmap stays in the second cache; bucket.h is for the others.
 *
 * 1. The rank picks the pairs in its part out of all lists and marks their indices in a bitmap.  2. The number of bits
 * below an index is its position in the result.  3. Each list is reduced into accumulators of its own, and these list
 * after list: the bits are those of coalescing first and merging then. */
#ifndef SPARSE_SCALARS_H
#define SPARSE_SCALARS_H

#include "sparse/compact.h"
#include "sparse/pool.h"

#include <stdbool.h>

/* At most so many lists: each rank looks at all pairs of all ranks, which for more ranks costs more than grouping. */
#define SCALARS_LISTS 3

struct scalars_list {
	struct pairs pairs; /* fewer than 2^32, indices of 4 bytes */
	bool raw;           /* the caller's own values: square_add squares them */
};

struct scalars_call {
	choir_dtype dtype;
	choir_op op;
	int n_ranks;
	struct index_range range;         /* the part */
	const struct scalars_list *lists; /* [n_lists], in rank order */
	int n_lists;
};

/* scalars_fit: may so many pairs of all ranks, in a non-empty range, be reduced this way? */
bool scalars_fit(struct index_range range, uint64_t pairs, int n_ranks);

struct scalars {
	struct scalars_call call;
	struct pool_block memory;
	uint32_t *key;                    /* distance from range.lo */
	uint32_t *val;                    /* the value where it has 4 bytes, else its position in the list */
	uint64_t from[SCALARS_LISTS + 1]; /* entries from[s] .. from[s + 1] - 1 were picked out of list s */
};

/* scalars_pick: finds the pairs in the part.  NO_MEMORY. */
choir_status scalars_pick(struct scalars *job, const struct scalars_call *call);

/* scalars_picked: how many, of all lists; the result is no longer. */
static inline uint64_t scalars_picked(const struct scalars *job)
{
	return job->from[job->call.n_lists];
}

/* scalars_reduce: ascending indices less base, which must fit 4 bytes (room for what was picked), and finished values.
 * NO_MEMORY. */
choir_status scalars_reduce(const struct scalars *job, int32_t *ind, int64_t base, void *val, uint64_t *count_p);

/* scalars_fini: legal on a zeroed job. */
void scalars_fini(struct scalars *job);

#endif
