/* SPDX-License-Identifier: MIT */
/* Note [chains].  A chain of blocks needs no count of the pairs in each bucket, and an entry holds key and element, so
 * half as many lines are written at a time: grouping is faster than by counts and two arrays (bucket.c).  Blocks of a
 * chain do not follow each other in memory, and the processor's prefetching stops at each page: while a part of a block
 * is folded, the same part of the next block is prefetched. */
#include "sparse/chain.h"

#include "base/simd.h"
#include "sparse/prefetch.h"
#include "sparse/scratch.h"

#define LINE_BYTES  64
#define PART        256 /* entries */
#define LEAST_BLOCK 512 /* bytes */
#define MOST_BLOCK  16384

static unsigned char *block_at(const struct chains *chains, uint32_t block)
{
	return chains->blocks + block * chains->block_bytes;
}

/* The bytes of all entries of a full block; the rest is too short for one more. */
static size_t entries_bytes(const struct chains *chains)
{
	return chains->block_bytes / chains->entry_bytes * chains->entry_bytes;
}

/* Where bucket b begins in its first block.  All chains grow at about the same pace: if they began alike, the lines
 * that are being written would fall into a few sets of the caches. */
static size_t first_off(const struct chains *chains, uint32_t b)
{
	return (size_t)b * (chains->block_bytes / chains->entry_bytes) / chains->shape.n * chains->entry_bytes;
}

/* Takes another block for bucket b, whose last one is full. */
static void more(struct chains *chains, uint32_t b)
{
	uint32_t block = chains->n_blocks++;

	chains->follows[(size_t)(chains->end[b] - 1 - chains->blocks) / chains->block_bytes] = block;
	chains->end[b] = block_at(chains, block);
}

/* A range that fits buckets is shorter than 2^32, so arithmetic of 32 bits gives what that of 64 would. */
EITHER_WAY void group(struct chains *chains, const struct pairs *pairs, uint32_t ind_bytes, size_t elem_bytes)
{
	const struct index_form form = { .bytes = ind_bytes };
	const uint32_t shift_by = (uint32_t)(pairs->form.base - chains->shape.lo),
		       low = (UINT32_C(1) << chains->shape.shift) - 1;
	const unsigned shift = chains->shape.shift;
	const uintptr_t within = chains->block_bytes - 1, last = chains->block_bytes - CHAIN_BYTES(elem_bytes);
	const unsigned char *const ind = pairs->ind, *const rows = pairs->rows;
	unsigned char **const end = chains->end;
	const uint64_t n = pairs->count;

	for (uint64_t from = 0; from < n; from += PREFETCH_ELEMENTS) {
		const uint64_t to = n - from < PREFETCH_ELEMENTS ? n : from + PREFETCH_ELEMENTS;

		prefetch(ind + from * ind_bytes);
		prefetch(rows + from * elem_bytes);
		for (uint64_t i = from; i < to; i++) {
			const uint32_t x = (uint32_t)index_at(ind, form, i) + shift_by, b = x >> shift;
			const uint16_t key = (uint16_t)(x & low);
			unsigned char *at = end[b];

			memcpy(at, &key, sizeof key);
			memcpy(at + CHAIN_KEY_BYTES, rows + i * elem_bytes, elem_bytes);
			at += CHAIN_BYTES(elem_bytes);
			__builtin_prefetch(at + LINE_BYTES, 1);
			end[b] = at;
			if ((((uintptr_t)at - 1) & within) >= last)
				more(chains, b);
		}
	}
}

#define GROUP(ind_bytes, elem_bytes)                                                                                   \
	static void group_##ind_bytes##_##elem_bytes(struct chains *chains, const struct pairs *pairs)                 \
	{                                                                                                              \
		group(chains, pairs, ind_bytes, elem_bytes);                                                           \
	}
GROUP(4, 1)
GROUP(4, 2)
GROUP(4, 4)
GROUP(4, 8)
GROUP(8, 1)
GROUP(8, 2)
GROUP(8, 4)
GROUP(8, 8)

/* By the logarithms of the bytes of index / 4 and element. */
static void (*const group_loops[2][4])(struct chains *, const struct pairs *) = {
	{ group_4_1, group_4_2, group_4_4, group_4_8 },
	{ group_8_1, group_8_2, group_8_4, group_8_8 },
};

/* Short blocks for few pairs: they stay in the cache. */
static size_t block_bytes(const struct bucket_shape *shape, uint64_t pairs, size_t entry_bytes)
{
	size_t bytes = LEAST_BLOCK;

	while (bytes < MOST_BLOCK && 4 * bytes * shape->n < pairs * entry_bytes)
		bytes *= 2;
	return bytes;
}

choir_status chain_group(const struct bucket_shape *shape, const struct pairs *pairs, uint64_t elem_bytes,
                         struct chains *out)
{
	size_t bytes = block_bytes(shape, pairs->count, CHAIN_BYTES(elem_bytes)),
	       most = 2 * shape->n + (size_t)(pairs->count / (bytes / CHAIN_BYTES(elem_bytes)));

	*out = (struct chains){
		.shape = *shape, .entry_bytes = CHAIN_BYTES(elem_bytes), .block_bytes = bytes, .n_blocks = shape->n
	};
	TRY(pool_take(&out->memory, (most + 1) * bytes + shape->n * sizeof *out->end + most * sizeof *out->follows,
	              "the pairs, grouped"));
	scratch_large_pages(&out->memory);
	out->blocks = (unsigned char *)out->memory.ptr + (-(uintptr_t)out->memory.ptr & (bytes - 1));
	out->end = (unsigned char **)(void *)(out->blocks + most * bytes);
	out->follows = (uint32_t *)(void *)(out->end + shape->n);
	for (uint32_t b = 0; b < shape->n; b++)
		out->end[b] = block_at(out, b) + first_off(out, b);
	group_loops[pairs->form.bytes == 8][__builtin_ctzll(elem_bytes)](out, pairs);
	return CHOIR_SUCCESS;
}

void chain_free(struct chains *chains)
{
	pool_give(&chains->memory);
}

struct chain_at chain_begin(const struct chains *chains, uint32_t bucket)
{
	return (struct chain_at){ .bucket = bucket, .block = bucket, .off = first_off(chains, bucket) };
}

size_t chain_part(const struct chains *chains, struct chain_at *at, const unsigned char **entries_p)
{
	const unsigned char *block = block_at(chains, at->block), *end = chains->end[at->bucket], *soon;
	bool is_last = block <= end && end < block + chains->block_bytes;
	size_t left = (is_last ? (size_t)(end - block) : entries_bytes(chains)) - at->off,
	       most = PART * chains->entry_bytes, bytes = left < most ? left : most;

	/* Behind the last block comes the next bucket's first. */
	soon = block_at(chains, is_last ? at->bucket + 1 : chains->follows[at->block]) + at->off;
	for (size_t i = 0; i < bytes; i += LINE_BYTES)
		__builtin_prefetch(soon + i);
	*entries_p = block + at->off;
	at->off += bytes;
	if (!is_last && bytes == left)
		*at = (struct chain_at){ .bucket = at->bucket, .block = chains->follows[at->block] };
	return bytes / chains->entry_bytes;
}
