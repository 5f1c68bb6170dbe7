/* SPDX-License-Identifier: MIT */
/* The lengths and offsets of blocks in allgather(v), reduce_scatter(v) and alltoall(v). */
#ifndef ALGO_BLOCKS_H
#define ALGO_BLOCKS_H

#include "algo/algo.h"

/* allgather(v): the bytes of a rank's block, those of the longest, and the offset of a block in this rank's RECV. */
static inline uint64_t gather_bytes(const struct algo_in *in, int rank)
{
	return in->block_bytes ? in->block_bytes[rank] : in->bytes;
}

static inline uint64_t gather_longest(const struct algo_in *in)
{
	uint64_t bytes = 0;

	for (int r = 0; r < in->layout->n; r++)
		if (gather_bytes(in, r) > bytes)
			bytes = gather_bytes(in, r);
	return bytes;
}

static inline uint64_t gather_off(const struct algo_in *in, int rank)
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

/* reduce_scatter(v): the bytes of a rank's block, those of the longest, and a block's offset in SEND (in rank
 * order). */
static inline uint64_t scatter_bytes(const struct algo_in *in, int rank)
{
	return in->block_bytes ? in->block_bytes[rank] : in->bytes;
}

static inline uint64_t scatter_longest(const struct algo_in *in)
{
	uint64_t bytes = 0;

	for (int r = 0; r < in->layout->n; r++)
		if (scatter_bytes(in, r) > bytes)
			bytes = scatter_bytes(in, r);
	return bytes;
}

static inline uint64_t scatter_off(const struct algo_in *in, int rank)
{
	uint64_t off = 0;

	if (!in->block_bytes)
		return (uint64_t)rank * in->bytes;
	for (int r = 0; r < rank; r++)
		off += in->block_bytes[r];
	return off;
}

/* alltoall(v): the bytes that `from` sends to `to` (one of them is this rank if in has to_bytes), their offset in the
 * sender's SEND, and in this rank's RECV. */
static inline uint64_t pair_bytes(const struct algo_in *in, int from, int to)
{
	if (in->to_bytes)
		return from == in->me ? in->to_bytes[to] : in->from_bytes[from];
	return in->block_bytes ? in->block_bytes[(size_t)from * (size_t)in->layout->n + (size_t)to] : in->bytes;
}

static inline uint64_t pair_send_off(const struct algo_in *in, int from, int to)
{
	uint64_t off = 0;

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

	if (!in->block_bytes && !in->to_bytes)
		return (uint64_t)from * in->bytes;
	if (in->recv_off)
		return in->recv_off[from];
	for (int r = 0; r < from; r++)
		off += pair_bytes(in, r, in->me);
	return off;
}

#endif
