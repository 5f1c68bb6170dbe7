/* SPDX-License-Identifier: MIT */
/* The writing side of the shared-memory transport: Note [shm records]. */
#include "net/shm_sides.h"

#include "base/error.h"

struct shm_send {
	struct shm_send *next; /* of the same peer, younger */
	struct shm_send *next_all, **prev_all;
	int peer;
	const unsigned char *data;
	uint64_t length;
	uint64_t passed; /* of the record */
	bool done;
};

/* Head and body as one whole record, if there is room. */
static bool put_whole(struct fifo *fifo, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
	struct shm_head length = { .length = head_bytes + body_bytes }, to_front = { .length = HEAD_TO_FRONT };
	uint64_t record = shm_record_of(length.length), to_end = fifo_to_end(fifo), skip = to_end < record ? to_end : 0, end;

	if (fifo_room(fifo, skip + record) < skip + record)
		return false;
	if (skip > 0) {
		end = fifo->at + skip;
		fifo_put(fifo, &to_front, sizeof to_front);
		fifo->at = end;
	}
	end = fifo->at + record;
	fifo_put(fifo, &length, sizeof length);
	fifo_put(fifo, head, head_bytes);
	fifo_put(fifo, body, body_bytes);
	fifo->at = end;
	fifo_publish(fifo);
	return true;
}

/* The next piece of a long one: head, data, and the way to the next record.  True if anything moved. */
static bool put_piece(struct fifo *fifo, struct shm_send *send)
{
	struct shm_head head = { .length = send->length };
	uint64_t before = send->passed, data_end = sizeof head + send->length, n;

	if (send->passed == 0) {
		if (fifo_room(fifo, RECORD_BYTES) < sizeof head)
			return false;
		fifo_put(fifo, &head, sizeof head);
		send->passed = sizeof head;
	}
	if (send->passed < data_end) {
		n = data_end - send->passed;
		n = shm_smaller(n, fifo_room(fifo, n));
		fifo_put(fifo, send->data + (send->passed - sizeof head), (size_t)n);
		send->passed += n;
	}
	if (send->passed >= data_end) {
		n = shm_record_of(send->length) - send->passed;
		n = shm_smaller(n, fifo_room(fifo, n));
		fifo->at += n;
		send->passed += n;
	}
	if (send->passed == before)
		return false;
	fifo_publish(fifo);
	return true;
}

static bool write_some(struct fifo *fifo, struct shm_send *send)
{
	if (!shm_is_whole(fifo, shm_record_of(send->length)))
		return put_piece(fifo, send);
	if (!put_whole(fifo, send->data, (size_t)send->length, NULL, 0))
		return false;
	send->passed = shm_record_of(send->length);
	return true;
}

/* Serves a peer's queue as far as there is room. */
static void push(struct shm *me, int peer)
{
	struct shm_out *out = &me->out[peer];
	bool moved = false;

	while (out->head != NULL) {
		struct shm_send *send = out->head;

		moved |= write_some(&out->fifo, send);
		if (send->passed < shm_record_of(send->length))
			break;
		send->done = true;
		out->head = send->next;
		if (out->head == NULL)
			out->end = &out->head;
	}
	if (moved)
		me->ring(me->ctx, peer);
}

static void forget(struct shm *me, struct shm_send *send)
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

	TRY(shm_check(me));
	send = blocks_take(&me->blocks, sizeof *send);
	if (send == NULL)
		return CHOIR_NO_MEMORY;
	*send = (struct shm_send){ .next_all = me->sends, .prev_all = &me->sends, .peer = peer, .data = data, .length = bytes };
	if (me->sends != NULL)
		me->sends->prev_all = &send->next_all;
	me->sends = send;
	*me->out[peer].end = send;
	me->out[peer].end = &send->next;
	push(me, peer);
	*request_p = send;
	if (send->done) {
		forget(me, send);
		*request_p = NULL;
	}
	return CHOIR_SUCCESS;
}

choir_status shm_send_now(choir_transport *transport, int peer, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
                          int *done_p)
{
	struct shm *me = shm_self(transport);
	struct shm_out *out = &me->out[peer];

	*done_p = 0;
	TRY(shm_check(me));
	if (out->head != NULL || body_bytes > out->fifo.size || !shm_is_whole(&out->fifo, shm_record_of(head_bytes + body_bytes)))
		return CHOIR_SUCCESS;
	*done_p = put_whole(&out->fifo, head, head_bytes, body, body_bytes);
	if (*done_p)
		me->ring(me->ctx, peer);
	return CHOIR_SUCCESS;
}

choir_status shm_test(choir_transport *transport, void *request, int *done_p)
{
	struct shm *me = shm_self(transport);
	struct shm_send *send = request;

	TRY(shm_check(me));
	if (!send->done)
		push(me, send->peer);
	*done_p = send->done;
	if (send->done)
		forget(me, send);
	return CHOIR_SUCCESS;
}

void shm_forget_sends(struct shm *me)
{
	while (me->sends != NULL)
		forget(me, me->sends);
}
