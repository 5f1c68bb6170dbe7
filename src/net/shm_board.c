/* SPDX-License-Identifier: MIT */
/* Note [shm board].  At the beginning of the memory each receiver has lines of its own, with a bit for each sender
 * whose ring is there.  A ring without its bit is not accessed: to read it would allocate it. */
#include "base/arithmetic.h"
#include "net/shm.h"
#include "net/shm_state.h"

enum { BOARD_BITS = 64, BOARD_LINE_BITS = RING_LINE_BYTES * 8 };

static uint64_t board_bytes(int n)
{
	return round_up((uint64_t)n, BOARD_LINE_BITS) / 8;
}

static _Atomic uint64_t *board_word(const struct shm *me, int src, int dst)
{
	unsigned char *board = (unsigned char *)me->memory + (uint64_t)dst * board_bytes(me->base.size);

	return (_Atomic uint64_t *)(void *)board + src / BOARD_BITS;
}

static uint64_t board_bit(int src)
{
	return UINT64_C(1) << src % BOARD_BITS;
}

uint64_t shm_first_bytes(int n)
{
	return (uint64_t)n * board_bytes(n);
}

uint64_t shm_bytes(int n, uint64_t ring_bytes)
{
	return shm_first_bytes(n) + (uint64_t)n * (uint64_t)n * ring_span(ring_bytes);
}

static uint64_t ring_off(const struct shm *me, int src, int dst)
{
	uint64_t n = (uint64_t)me->base.size;

	return shm_first_bytes(me->base.size) + ((uint64_t)src * n + (uint64_t)dst) * ring_span(me->ring_bytes);
}

static struct ring *ring_between(const struct shm *me, int src, int dst)
{
	return (struct ring *)(void *)((unsigned char *)me->memory + ring_off(me, src, dst));
}

choir_status shm_begin(struct shm *me, int peer)
{
	int rank = me->base.rank;

	if (me->out[peer].ring != NULL)
		return CHOIR_SUCCESS;
	if (me->take != NULL)
		TRY(me->take(me->ctx, ring_off(me, rank, peer), ring_span(me->ring_bytes)));
	me->out[peer].ring = ring_between(me, rank, peer);
	atomic_fetch_or_explicit(board_word(me, rank, peer), board_bit(rank), memory_order_release);
	return CHOIR_SUCCESS;
}

bool shm_has_begun(struct shm *me, int src)
{
	int rank = me->base.rank;

	if (me->in[src].ring != NULL)
		return true;
	if ((atomic_load_explicit(board_word(me, src, rank), memory_order_acquire) & board_bit(src)) == 0)
		return false;
	me->in[src].ring = ring_between(me, src, rank);
	return true;
}
