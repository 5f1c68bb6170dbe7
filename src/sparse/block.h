/* SPDX-License-Identifier: MIT */
/* A block: pairs as one piece of memory or message: indices, padding to 16, rows, padding to 16.  Pure arithmetic. */
#ifndef SPARSE_BLOCK_H
#define SPARSE_BLOCK_H

#include "base/arithmetic.h"
#include "sparse/pairs.h"

#define BLOCK_ALIGN 16

static inline uint64_t block_round(uint64_t bytes)
{
	return round_up(bytes, BLOCK_ALIGN);
}

static inline uint64_t block_rows_off(struct index_form form, uint64_t count)
{
	return block_round(count * form.bytes);
}

static inline uint64_t block_bytes(struct index_form form, uint64_t count, uint64_t row_bytes)
{
	return block_rows_off(form, count) + block_round(count * row_bytes);
}

static inline struct pairs block_pairs(const void *block, struct index_form form, uint64_t count)
{
	return (struct pairs){ .ind = block,
		               .rows = (const unsigned char *)block + block_rows_off(form, count),
		               .count = count,
		               .form = form };
}

/* block_write: pairs [from, from + count) as a block of the given form. */
static inline void block_write(void *block, struct index_form form, const struct pairs *pairs, uint64_t from,
                               uint64_t count, uint64_t row_bytes)
{
	index_convert(block, form, (const unsigned char *)pairs->ind + from * pairs->form.bytes, pairs->form, count);
	if (count > 0)
		memcpy((unsigned char *)block + block_rows_off(form, count), pairs->rows + from * row_bytes,
		       count * row_bytes);
}

#endif
