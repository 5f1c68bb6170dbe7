/* SPDX-License-Identifier: MIT */
/* The sends of the shared-memory transport: Note [shm pieces] in shm.c. */
#include "net/shm_state.h"

#include "base/copy.h"

enum { NT_BYTES = 1024 };

/* Publishes a piece, head and body of a message of `length` bytes, as one item; false if there is no room. */
static bool put(const struct shm *me, struct ring *ring, uint64_t length, const void *head, size_t head_bytes,
                const void *body, size_t body_bytes)
{
	struct ring_item *item = ring_reserve(ring, me->ring_bytes, head_bytes + body_bytes);

	if (item == NULL)
		return false;
	if (head_bytes > 0)
		copy_host(ring_at(ring, item), head, head_bytes, head_bytes >= NT_BYTES);
	if (body_bytes > 0)
		copy_host(ring_at(ring, item) + head_bytes, body, body_bytes, body_bytes >= NT_BYTES);
	item->key[0] = length;
	ring_publish(ring, 0);
	return true;
}

/* Publishes as many pieces of the send as there is room for; true if it published any. */
static bool put_pieces(const struct shm *me, struct ring *ring, struct shm_send *send)
{
	bool moved = false;

	while (!send->done) {
		uint64_t piece = shm_next_piece(me, send->length, send->passed);

		if (!put(me, ring, send->length, send->data + send->passed, (size_t)piece, NULL, 0))
			break;
		moved = true;
		send->passed += piece;
		send->done = send->passed == send->length;
	}
	return moved;
}

/* Serves the queue of sends to a peer as far as there is room. */
static void push(struct shm *me, int peer)
{
	struct shm_out *out = &me->out[peer];
	bool moved = false;

	while (out->head != NULL) {
		struct shm_send *send = out->head;

		moved |= put_pieces(me, out->ring, send);
		if (!send->done)
			break;
		out->head = send->next;
		if (out->head == NULL)
			out->end = &out->head;
	}
	if (moved)
		me->wake(me->ctx, peer);
}

void shm_forget(struct shm *me, struct shm_send *send)
{
	*send->prev_all = send->next_all;
	if (send->next_all != NULL)
		send->next_all->prev_all = send->prev_all;
	blocks_give(&me->blocks, send);
}

choir_status shm_send(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p)
{
	struct shm *me = shm_self(transport);
	struct shm_send *send;

	if (me->stopped)
		return shm_stopped();
	TRY(shm_begin(me, peer));
	send = blocks_take(&me->blocks, sizeof *send);
	if (send == NULL)
		return CHOIR_NO_MEMORY;
	*send = (struct shm_send){
		.next_all = me->sends, .prev_all = &me->sends, .peer = peer, .data = data, .length = bytes
	};
	if (me->sends != NULL)
		me->sends->prev_all = &send->next_all;
	me->sends = send;
	*me->out[peer].end = send;
	me->out[peer].end = &send->next;
	push(me, peer);
	*request_p = send;
	if (send->done) {
		shm_forget(me, send);
		*request_p = NULL;
	}
	return CHOIR_SUCCESS;
}

choir_status shm_send_now(choir_transport *transport, int peer, const void *head, size_t head_bytes, const void *body,
                          size_t body_bytes, int *done_p)
{
	struct shm *me = shm_self(transport);
	struct shm_out *out = &me->out[peer];

	*done_p = 0;
	if (me->stopped)
		return shm_stopped();
	TRY(shm_begin(me, peer));
	if (out->head != NULL || body_bytes > shm_piece_bytes(me) || head_bytes + body_bytes > shm_piece_bytes(me))
		return CHOIR_SUCCESS;
	*done_p = put(me, out->ring, head_bytes + body_bytes, head, head_bytes, body, body_bytes);
	if (*done_p)
		me->wake(me->ctx, peer);
	return CHOIR_SUCCESS;
}

choir_status shm_test(choir_transport *transport, void *request, int *done_p)
{
	struct shm *me = shm_self(transport);
	struct shm_send *send = request;

	if (me->stopped)
		return shm_stopped();
	if (!send->done)
		push(me, send->peer);
	*done_p = send->done;
	if (send->done)
		shm_forget(me, send);
	return CHOIR_SUCCESS;
}
