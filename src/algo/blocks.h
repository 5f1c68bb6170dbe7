/* SPDX-License-Identifier: MIT */
/* The lengths and offsets of blocks in allgather(v), reduce_scatter(v) and alltoall(v). */
#ifndef ALGO_BLOCKS_H
#define ALGO_BLOCKS_H

#include "algo/algo.h"

/* The bytes of a rank's block, those of the longest and of all, and the offset of a block in the buffer that holds all
 * of them: RECV of allgather(v), SEND of reduce_scatter(v).  Where a rank has no blocks: the bytes of its buffer,
 * offset 0. */
static inline uint64_t rank_block_bytes(const struct algo_in *in, int rank)
{
	return in->block_bytes ? in->block_bytes[rank] : in->bytes;
}

static inline uint64_t rank_block_longest(const struct algo_in *in)
{
	uint64_t bytes = 0;

	for (int r = 0; r < in->layout->n; r++)
		if (rank_block_bytes(in, r) > bytes)
			bytes = rank_block_bytes(in, r);
	return bytes;
}

/* What the built-in rules take for a call's bytes: in->bytes, and of v forms, where these are all blocks, a mean one,
 * rounded up. */
static inline uint64_t rank_block_mean(const struct algo_in *in)
{
	uint64_t n = (uint64_t)in->layout->n;
	bool all = collective_has(in->collective, TRAIT_UNEVEN) && !collective_of_pairs(in->collective);

	return all ? (in->bytes + n - 1) / n : in->bytes;
}

static inline uint64_t rank_blocks_total(const struct algo_in *in)
{
	uint64_t total = 0;

	for (int r = 0; r < in->layout->n; r++)
		total += rank_block_bytes(in, r);
	return total;
}

static inline uint64_t rank_block_off(const struct algo_in *in, int rank)
{
	uint64_t off = 0;

	if (!in->block_bytes)
		return (uint64_t)rank * in->bytes;
	if (in->block_off)
		return in->block_off[rank];
	for (int r = 0; r < rank; r++)
		off += in->block_bytes[r];
	return off;
}

/* alltoall(v), gather(v), scatter(v): the bytes that `from` sends to `to` (one of them is this rank if in has
 * to_bytes), their offset in the sender's SEND, and in this rank's RECV.  Of a scatterv the root alone knows the
 * offsets. */
static inline uint64_t pair_bytes(const struct algo_in *in, int from, int to)
{
	if (in->to_bytes)
		return from == in->me ? in->to_bytes[to] : in->from_bytes[from];
	if (collective_of_pairs(in->collective))
		return in->block_bytes ? in->block_bytes[(size_t)from * (size_t)in->layout->n + (size_t)to] : in->bytes;
	if (collective_recvs_blocks(in->collective))
		return to == in->root ? rank_block_bytes(in, from) : 0;
	return from == in->root ? rank_block_bytes(in, to) : 0;
}

static inline uint64_t pair_send_off(const struct algo_in *in, int from, int to)
{
	uint64_t off = 0;

	if (!collective_of_pairs(in->collective))
		return collective_sends_blocks(in->collective) ? rank_block_off(in, to) : 0;
	if (!in->block_bytes && !in->to_bytes)
		return (uint64_t)to * in->bytes;
	if (in->send_off)
		return in->send_off[(size_t)from * (size_t)in->layout->n + (size_t)to];
	for (int r = 0; r < to; r++)
		off += pair_bytes(in, from, r);
	return off;
}

static inline uint64_t pair_recv_off(const struct algo_in *in, int from)
{
	uint64_t off = 0;

	if (!collective_of_pairs(in->collective))
		return collective_recvs_blocks(in->collective) ? rank_block_off(in, from) : 0;
	if (!in->block_bytes && !in->to_bytes)
		return (uint64_t)from * in->bytes;
	if (in->recv_off)
		return in->recv_off[from];
	for (int r = 0; r < from; r++)
		off += pair_bytes(in, r, in->me);
	return off;
}

#endif
