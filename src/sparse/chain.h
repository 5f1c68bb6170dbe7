/* SPDX-License-Identifier: MIT */
/* The scalar pairs of one list, grouped into buckets (bucket.h) in one pass.  A bucket is a chain of blocks of entries,
 * which are taken as they are needed; its pairs keep their order.  bucket_split groups in two passes, into memory
 * without pointers that other ranks read. */
#ifndef SPARSE_CHAIN_H
#define SPARSE_CHAIN_H

#include "sparse/bucket.h"
#include "sparse/pool.h"

#include <stddef.h>

/* An entry: the index within the bucket, then the element, without padding. */
#define CHAIN_KEY_BYTES         2
#define CHAIN_BYTES(elem_bytes) (CHAIN_KEY_BYTES + (elem_bytes))

struct chains {
	struct bucket_shape shape;
	size_t entry_bytes, block_bytes;
	unsigned char *blocks; /* of block_bytes each and aligned to that; bucket b begins in block b */
	unsigned char **end;   /* [n] where a bucket's next entry would go */
	uint32_t *follows;     /* the next block of a block's bucket, unless it is the last */
	uint32_t n_blocks;
	struct pool_block memory;
};

/* chain_group: fewer than 2^32 pairs, all in the shape's range.  NO_MEMORY. */
choir_status chain_group(const struct bucket_shape *shape, const struct pairs *pairs, uint64_t elem_bytes,
                         struct chains *out);

void chain_free(struct chains *chains);

/* A position in a bucket. */
struct chain_at {
	uint32_t bucket, block;
	size_t off;
};

struct chain_at chain_begin(const struct chains *chains, uint32_t bucket);

/* chain_part: the next entries of the bucket, a few hundred at most; 0 = there are no more.  Prefetches later ones. */
size_t chain_part(const struct chains *chains, struct chain_at *at, const unsigned char **entries_p);

#endif
