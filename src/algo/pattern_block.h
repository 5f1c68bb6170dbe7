/* SPDX-License-Identifier: MIT */
/* Splits bytes into n blocks of whole units, or into chunks of limited length.  Units keep elements whole and, for the
 * common element sizes, blocks on separate cache lines.  With fewer units than blocks the last blocks are empty. */
#ifndef ALGO_PATTERN_BLOCK_H
#define ALGO_PATTERN_BLOCK_H

#include "base/arithmetic.h"

/* The unit for elements of that size: a cache line if its size is a multiple of the element's, else one element. */
static inline uint64_t block_unit(uint64_t elem_bytes)
{
	return elem_bytes <= 64 && 64 % elem_bytes == 0 ? 64 : elem_bytes;
}

/* The offset of block i of n; that of block n is bytes. */
static inline uint64_t block_off(uint64_t bytes, int n, uint64_t unit, int i)
{
	uint64_t units = (bytes + unit - 1) / unit;
	uint64_t each = units / (uint64_t)n, longer = units % (uint64_t)n;
	uint64_t before = (uint64_t)i * each + min_u64((uint64_t)i, longer);

	return min_u64(before * unit, bytes);
}

static inline uint64_t block_len(uint64_t bytes, int n, uint64_t unit, int i)
{
	return block_off(bytes, n, unit, i + 1) - block_off(bytes, n, unit, i);
}

/* The longest block, rounded up to units. */
static inline uint64_t block_max(uint64_t bytes, int n, uint64_t unit)
{
	return ((bytes + unit - 1) / unit + (uint64_t)n - 1) / (uint64_t)n * unit;
}

/* Chunks of equal length (the last one may be shorter), as few as limit allows.  limit is a multiple of unit. */
struct chunks {
	uint64_t bytes, each;
	uint64_t n;
};

static inline struct chunks chunks_of(uint64_t bytes, uint64_t limit, uint64_t unit)
{
	struct chunks c = { .bytes = bytes, .each = unit };

	if (bytes == 0)
		return c;
	c.n = bytes / limit + (bytes % limit != 0);
	c.each = round_up((bytes + c.n - 1) / c.n, unit);
	c.n = (bytes + c.each - 1) / c.each;
	return c;
}

static inline uint64_t chunk_off(struct chunks c, uint64_t k)
{
	return k * c.each;
}

static inline uint64_t chunk_len(struct chunks c, uint64_t k)
{
	return min_u64(c.each, c.bytes - k * c.each);
}

#endif
