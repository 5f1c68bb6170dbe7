/* SPDX-License-Identifier: MIT */
/* Which rank owns which indices.  Pure arithmetic, the same on every rank. */
#ifndef SPARSE_REGION_H
#define SPARSE_REGION_H

#include "sparse/header.h"

/* region_of: part r of n of a non-empty range with lo >= 0; the first (span % n) parts are one longer; may be empty. */
static inline struct index_range region_of(struct index_range range, int r, int n)
{
	uint64_t span = (uint64_t)(range.hi - range.lo) + 1, part = span / (uint64_t)n, more = span % (uint64_t)n,
		 at = (uint64_t)r;
	uint64_t lo = (uint64_t)range.lo + part * at + (at < more ? at : more);
	uint64_t length = part + (at < more);

	return length == 0 ? INDEX_RANGE_EMPTY
	                   : (struct index_range){ .lo = (int64_t)lo, .hi = (int64_t)(lo + length - 1) };
}

/* region_end: how many of the ascending pairs lie at or below region.hi, counted from `from`; an empty region takes
 * none. */
static inline uint64_t region_end(const struct pairs *pairs, uint64_t from, struct index_range region)
{
	uint64_t lo = from, hi = pairs->count;

	if (index_range_is_empty(region))
		return from;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (index_at(pairs->ind, pairs->form, mid) <= region.hi)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* region_sample: the header's samples of an ascending list: the middles of so many equal parts. */
void region_sample(const struct pairs *pairs, struct sparse_header *header);

/* region_sample_raw: the same of a list in any order, from some of its pairs drawn here and there. */
void region_sample_raw(const struct pairs *pairs, struct sparse_header *header);

/* region_cut: n regions of about the same number of pairs: rank r owns bounds[r] .. bounds[r + 1] - 1 (bounds has n + 1
 * entries), which may be nothing.  From the samples of all headers, each standing for its part of its rank's pairs.
 * NO_MEMORY. */
choir_status region_cut(const struct sparse_header *all, int n, struct index_range range, uint64_t *bounds);

static inline struct index_range region_between(const uint64_t *bounds, int r)
{
	if (bounds[r] >= bounds[r + 1])
		return INDEX_RANGE_EMPTY;
	return (struct index_range){ .lo = (int64_t)bounds[r], .hi = (int64_t)(bounds[r + 1] - 1) };
}

#endif
