/* SPDX-License-Identifier: MIT */
/* The block that each rank sends and receives at step s of a ring of n, 0 <= s < n - 1.  Each rank sends to the next
 * one and receives from the one before.
 *
 * Reduce-scatter with owner shift o: the block that i receives at step s it sends at step s + 1, and after the last
 * step i owns block i + o.  Allgather from those owners: i first sends block i + o. */
#ifndef ALGO_PATTERN_RING_H
#define ALGO_PATTERN_RING_H

static inline int ring_at(int i, int n)
{
	return (i % n + n) % n;
}

static inline int ring_next(int me, int n)
{
	return ring_at(me + 1, n);
}

static inline int ring_before(int me, int n)
{
	return ring_at(me - 1, n);
}

static inline int ring_reduce_send_block(int me, int step, int n, int shift)
{
	return ring_at(me - step - 1 + shift, n);
}

static inline int ring_reduce_recv_block(int me, int step, int n, int shift)
{
	return ring_at(me - step - 2 + shift, n);
}

static inline int ring_gather_send_block(int me, int step, int n, int shift)
{
	return ring_at(me - step + shift, n);
}

static inline int ring_gather_recv_block(int me, int step, int n, int shift)
{
	return ring_at(me - step - 1 + shift, n);
}

#endif
