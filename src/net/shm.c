/* SPDX-License-Identifier: MIT */
/* An endpoint's life; what it writes and reads is in files of its own. */
#include "net/shm.h"

#include "base/error.h"
#include "net/shm_sides.h"

#include <stdlib.h>

static uint64_t fifo_span(uint64_t fifo_bytes)
{
	return sizeof(struct fifo_ends) + (fifo_bytes + 63) / 64 * 64;
}

uint64_t shm_bytes(int n, uint64_t fifo_bytes)
{
	return (uint64_t)n * (uint64_t)n * fifo_span(fifo_bytes);
}

static struct fifo fifo_at(void *memory, int n, int src, int dst, uint64_t fifo_bytes)
{
	unsigned char *at = (unsigned char *)memory + ((uint64_t)src * (uint64_t)n + (uint64_t)dst) * fifo_span(fifo_bytes);

	return (struct fifo){ .ends = (struct fifo_ends *)(void *)at, .bytes = at + sizeof(struct fifo_ends), .size = fifo_bytes };
}

static void shm_abort(choir_transport *transport)
{
	shm_self(transport)->stopped = true;
}

static void free_shm(struct shm *me)
{
	shm_forget_lent(me);
	shm_forget_sends(me);
	free(me->in);
	free(me->out);
	blocks_fini(&me->blocks);
	free(me);
}

static void shm_destroy(choir_transport *transport)
{
	struct shm *me = shm_self(transport);
	void (*release)(void *ctx) = me->release;
	void *ctx = me->ctx;

	free_shm(me);
	release(ctx);
}

static const choir_transport_ops shm_ops = {
	.struct_size = sizeof(choir_transport_ops),
	.name = "shared memory",
	.polled = 0,
	.send = shm_send,
	.test = shm_test,
	.poll = shm_poll,
	.give = shm_give,
	.abort = shm_abort,
	.destroy = shm_destroy,
	.send_now = shm_send_now,
	.overdue = shm_overdue,
};

static void join_fifos(struct shm *me, void *memory, uint64_t fifo_bytes)
{
	int rank = me->base.rank, n = me->base.size;

	for (int i = 0; i < n; i++) {
		me->out[i].fifo = fifo_at(memory, n, rank, i, fifo_bytes);
		me->out[i].end = &me->out[i].head;
		me->in[i].fifo = fifo_at(memory, n, i, rank, fifo_bytes);
	}
}

choir_status shm_create(void *memory, int rank, int n, uint64_t fifo_bytes, void (*ring)(void *ctx, int peer), void (*release)(void *ctx),
                        void *ctx, choir_transport **out_p)
{
	struct shm *me;
	choir_status st;

	if (n < 1 || rank < 0 || rank >= n || fifo_bytes < 64 || (fifo_bytes & (fifo_bytes - 1)) != 0 || (uintptr_t)memory % 64 != 0)
		return error_set(CHOIR_ARGUMENT, "a shared-memory endpoint %d of %d with FIFOs of %llu bytes cannot be", rank, n,
		                 (unsigned long long)fifo_bytes);
	me = calloc(1, sizeof *me);
	if (me == NULL)
		return error_no_memory("a shared-memory transport", sizeof *me);
	st = blocks_init(&me->blocks);
	if (st != CHOIR_SUCCESS) {
		free(me);
		return st;
	}
	me->base = (choir_transport){ .ops = &shm_ops, .rank = rank, .size = n };
	me->ring = ring;
	me->release = release;
	me->ctx = ctx;
	me->out = calloc((size_t)n, sizeof *me->out);
	me->in = calloc((size_t)n, sizeof *me->in);
	if (me->out == NULL || me->in == NULL) {
		free_shm(me);
		return error_no_memory("a shared-memory transport's peers", (size_t)n * sizeof *me->in);
	}
	join_fifos(me, memory, fifo_bytes);
	*out_p = &me->base;
	return CHOIR_SUCCESS;
}
