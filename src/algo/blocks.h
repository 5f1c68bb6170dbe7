/* SPDX-License-Identifier: MIT */
/* Where each rank's block lies in an allgather(v) and an alltoallv. */
#ifndef ALGO_BLOCKS_H
#define ALGO_BLOCKS_H

#include "algo/algo.h"

/* allgather(v): the bytes of a rank's block, and where it goes in my RECV. */
static inline uint64_t gather_bytes(const struct algo_in *in, int rank)
{
	return in->block_bytes ? in->block_bytes[rank] : in->bytes;
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

/* alltoallv: the bytes that `from` sends to `to`; where they begin in from's SEND and in to's RECV (both packed in rank order). */
static inline uint64_t pair_bytes(const struct algo_in *in, int from, int to)
{
	return in->block_bytes[(size_t)from * (size_t)in->layout->n + (size_t)to];
}

static inline uint64_t pair_send_off(const struct algo_in *in, int from, int to)
{
	uint64_t off = 0;

	for (int r = 0; r < to; r++)
		off += pair_bytes(in, from, r);
	return off;
}

static inline uint64_t pair_recv_off(const struct algo_in *in, int from, int to)
{
	uint64_t off = 0;

	for (int r = 0; r < from; r++)
		off += pair_bytes(in, r, to);
	return off;
}

#endif
