/* SPDX-License-Identifier: MIT */
/* Which rank owns which indices in split: equal parts of the range, in rank order.  Pure arithmetic. */
#ifndef SPARSE_REGION_H
#define SPARSE_REGION_H

#include "sparse/pairs.h"

/* region_of: part r of n of a non-empty range with lo >= 0; the first (span % n) parts are one longer; may be empty. */
static inline struct index_range region_of(struct index_range range, int r, int n)
{
	uint64_t span = (uint64_t)(range.hi - range.lo) + 1, part = span / (uint64_t)n, more = span % (uint64_t)n, at = (uint64_t)r;
	uint64_t lo = (uint64_t)range.lo + part * at + (at < more ? at : more);
	uint64_t length = part + (at < more);

	return length == 0 ? INDEX_RANGE_EMPTY : (struct index_range){ .lo = (int64_t)lo, .hi = (int64_t)(lo + length - 1) };
}

/* region_end: how many of the ascending pairs lie at or below region.hi, counted from `from`; an empty region takes none. */
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

#endif
