/* SPDX-License-Identifier: MIT */
/* Note [shm pieces].  A message of up to a quarter of the ring is one item, and the receiver reads it in place
 * (zero-copy receive).  A longer message passes in pieces of a quarter each, which the receiver copies to a block.
 * Each item has the length of the whole message.  The sends to a peer are queued and served in order, so the pieces of
 * two messages never mix.
 *
 * Note [shm overdue].  Room returns to the sender in the order of the items, so a message that is still in the ring
 * blocks the room of all items read after it.  It is overdue when more than half of the bytes or of the items are
 * blocked: the other half has room for one more item wherever it begins, so messages pass again as soon as overdue ones
 * are given back.
 *
 * An endpoint that publishes or frees an item wakes the other side, which may wait for items or for room.  The wake-up
 * contains a full fence (Note [bell]), which orders it after the change. */
#include "net/shm.h"

#include "base/arithmetic.h"
#include "base/copy.h"
#include "base/error.h"
#include "net/shm_state.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_RING_BYTES = 256 };

/* The library sends no longer message; a longer one means that the memory was overwritten. */
#define LONGEST_BYTES ((uint64_t)1 << 40)

/* Counts the item `next`, of len bytes, as read.  Its room is blocked until it is freed. */
static void count_read(struct shm_in *in, uint64_t len)
{
	in->read += round_up(len, RING_LINE_BYTES);
	in->ends[in->next % RING_ITEMS] = in->read;
	in->next++;
}

static void free_item(struct shm *me, int src, uint64_t number)
{
	if (ring_free(me->in[src].ring, number))
		me->wake(me->ctx, src);
}

static choir_status error_corrupt(int src, uint64_t length, uint64_t at)
{
	return error_set(CHOIR_TRANSPORT,
	                 "shared memory: the ring from endpoint %d is corrupt: a message of %llu bytes at offset %llu",
	                 src, (unsigned long long)length, (unsigned long long)at);
}

static bool is_inside(const struct shm *me, const struct ring_item *item, uint64_t len)
{
	return item->at % RING_LINE_BYTES == 0 && item->at <= me->ring_bytes && len <= me->ring_bytes - item->at;
}

static choir_status read_piece(struct shm *me, int src, const struct ring_item *item, choir_message *message_p,
                               int *arrived_p)
{
	struct shm_in *in = &me->in[src];
	uint64_t len;

	if (in->data == NULL) {
		in->data = blocks_take(&me->blocks, item->key[0]);
		if (in->data == NULL)
			return CHOIR_NO_MEMORY; /* the item stays where it is */
		in->length = item->key[0];
		in->passed = 0;
	}
	len = shm_next_piece(me, in->length, in->passed);
	if (item->key[0] != in->length || !is_inside(me, item, len))
		return error_corrupt(src, item->key[0], item->at);
	copy_host(in->data + in->passed, ring_at(in->ring, item), len, false);
	in->passed += len;
	count_read(in, len);
	free_item(me, src, in->next - 1);
	if (in->passed < in->length)
		return CHOIR_SUCCESS;
	*message_p = (choir_message){ .peer = src, .bytes = (size_t)in->length, .data = in->data };
	in->data = NULL;
	*arrived_p = 1;
	return CHOIR_SUCCESS;
}

/* Reads items of a source until a message is complete: *arrived_p = 1, or until there are no more. */
static choir_status pull(struct shm *me, int src, choir_message *message_p, int *arrived_p)
{
	struct shm_in *in = &me->in[src];
	const struct ring_item *item;
	uint32_t tag;

	if (!shm_has_begun(me, src))
		return CHOIR_SUCCESS;
	while (!*arrived_p && (item = ring_peek(in->ring, in->next, &tag)) != NULL) {
		uint64_t length = item->key[0];

		if (length > LONGEST_BYTES)
			return error_corrupt(src, length, 0);
		if (in->data != NULL || length > shm_piece_bytes(me)) {
			TRY(read_piece(me, src, item, message_p, arrived_p));
			continue;
		}
		if (!is_inside(me, item, length))
			return error_corrupt(src, length, item->at);
		*message_p = (choir_message){ .peer = src,
			                      .bytes = (size_t)length,
			                      .data = ring_at(in->ring, item),
			                      .impl = (void *)item,
			                      .lent = 1 };
		count_read(in, length);
		*arrived_p = 1;
	}
	return CHOIR_SUCCESS;
}

static choir_status shm_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	struct shm *me = shm_self(transport);
	int n = transport->size, src = me->next_source;
	bool without = false;

	*arrived_p = 0;
	if (me->stopped)
		return shm_stopped();
	for (int i = 0; i < n && !*arrived_p; i++) {
		choir_status st = pull(me, src, message_p, arrived_p);

		if (st != CHOIR_SUCCESS && st != CHOIR_NO_MEMORY)
			return st;
		without |= st == CHOIR_NO_MEMORY; /* others may need none */
		src = src + 1 < n ? src + 1 : 0;
	}
	if (*arrived_p)
		me->next_source = src;
	return without && !*arrived_p ? CHOIR_NO_MEMORY : CHOIR_SUCCESS;
}

static void shm_give(choir_transport *transport, choir_message *message)
{
	struct shm *me = shm_self(transport);

	if (message->impl != NULL)
		free_item(me, message->peer, ring_number(me->in[message->peer].ring, message->impl));
	else
		blocks_give(&me->blocks, message->data);
}

static int shm_overdue(choir_transport *transport, const choir_message *message)
{
	const struct shm *me = shm_self(transport);
	const struct shm_in *in = &me->in[message->peer];
	uint64_t first = ring_first(in->ring);

	if (message->impl == NULL)
		return 0;
	return in->next - first > RING_ITEMS / 2 ||
	       in->read - (first > 0 ? in->ends[(first - 1) % RING_ITEMS] : 0) > me->ring_bytes / 2;
}

static void shm_abort(choir_transport *transport)
{
	shm_self(transport)->stopped = true;
}

static void free_shm(struct shm *me)
{
	for (int i = 0; me->in != NULL && i < me->base.size; i++)
		blocks_give(&me->blocks, me->in[i].data);
	while (me->sends != NULL)
		shm_forget(me, me->sends);
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

choir_status shm_create(void *memory, int rank, int n, uint64_t ring_bytes,
                        choir_status (*take)(void *ctx, uint64_t off, uint64_t bytes),
                        void (*wake)(void *ctx, int peer), void (*release)(void *ctx), void *ctx,
                        choir_transport **out_p)
{
	struct shm *me;
	choir_status st;

	if (n < 1 || rank < 0 || rank >= n || ring_bytes < LEAST_RING_BYTES || (ring_bytes & (ring_bytes - 1)) != 0 ||
	    (uintptr_t)memory % RING_LINE_BYTES != 0)
		return error_set(CHOIR_ARGUMENT,
		                 "a shared-memory endpoint %d of %d with rings of %llu bytes is not possible", rank, n,
		                 (unsigned long long)ring_bytes);
	me = calloc(1, sizeof *me);
	if (me == NULL)
		return error_no_memory("a shared-memory transport", sizeof *me);
	st = blocks_init(&me->blocks);
	if (st != CHOIR_SUCCESS) {
		free(me);
		return st;
	}
	me->base = (choir_transport){ .ops = &shm_ops, .rank = rank, .size = n };
	me->memory = memory;
	me->take = take;
	me->wake = wake;
	me->release = release;
	me->ctx = ctx;
	me->ring_bytes = ring_bytes;
	me->out = calloc((size_t)n, sizeof *me->out);
	me->in = calloc((size_t)n, sizeof *me->in);
	if (me->out == NULL || me->in == NULL) {
		free_shm(me);
		return error_no_memory("a shared-memory transport's peers", (size_t)n * sizeof *me->in);
	}
	for (int i = 0; i < n; i++)
		me->out[i].end = &me->out[i].head;
	*out_p = &me->base;
	return CHOIR_SUCCESS;
}
