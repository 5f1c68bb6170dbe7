/* SPDX-License-Identifier: MIT */
/* Scalars: pairs of width 1 of a few ranks, unsorted and with duplicates, of which a rank reduces those in its part of
 * the range.  For parts whose bitmap stays in the second cache; bucket.h is for the others.
 *
 * The pairs in the part are picked out of all lists; a bitmap of their indices gives each its place in the result; each
 * list is folded into accumulators of its own, which are then folded list after list: the bits of coalescing first and
 * merging then. */
#ifndef SPARSE_SCALARS_H
#define SPARSE_SCALARS_H

#include "sparse/compact.h"
#include "sparse/pool.h"

#include <stdbool.h>

#define SCALARS_LISTS                                                                                                  \
	3 /* at most: each rank looks at every rank's pairs, which costs more with each rank than having them sent to  \
	     their owner */

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

/* scalars_picked: of all lists; the result is no longer. */
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
