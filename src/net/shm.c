/* SPDX-License-Identifier: MIT */
/* Note [shm records].  A FIFO holds records, each at a multiple of 64 bytes: 16 bytes of head, the message, and nothing up to the next such multiple.  A message
 * of up to 5/16 of the FIFO is a whole record: in one run of bytes, written when there is room for all of it, and lent to the receiver where it lies.  Where it
 * would cross the memory's end a head that says so goes before it, and it begins anew at the front.  A longer one passes in as many pieces as the room allows, and is
 * put together in a block.  The writer's queue for a peer is served in order, its head first, so records are never interleaved.
 *
 * Note [shm lending].  Room is given back in the order of the records, so a lent message holds up what was read after it too.  More than 6/16 of the FIFO held up by
 * it is overdue: what is left then has room for a whole record and the way to the front, so things move on once overdue messages come back.
 *
 * Whoever moved bytes rings the other side: a reader may wait for bytes and a writer for room.  The ring has a full fence in it (Note [bell]), which orders it after
 * the count that was raised. */
#include "net/shm.h"

#include "base/error.h"
#include "net/blocks.h"
#include "net/fifo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Above any message the library sends; a length beyond it was written by somebody else. */
#define SHM_LONGEST_BYTES ((uint64_t)1 << 40)
#define RECORD_BYTES      ((uint64_t)64)
#define HEAD_TO_FRONT     UINT64_MAX /* instead of a length: the next record is at the memory's front */

struct shm_head {
	uint64_t length, unused;
};

struct shm_send {
	struct shm_send *next; /* of the same peer, younger */
	struct shm_send *next_all, **prev_all;
	int peer;
	const unsigned char *data;
	uint64_t length;
	uint64_t passed; /* of the record */
	bool done;
};

struct shm_out {
	struct fifo fifo;
	struct shm_send *head, **end;
};

/* A message that is lent; with it goes what was read up to the next lent one. */
struct shm_lent {
	struct shm_lent *next; /* of the same source, younger; of the unused ones, any */
	struct shm_in *in;
	uint64_t upto;
	bool given;
};

struct shm_in {
	struct fifo fifo;
	uint64_t freed;
	struct shm_lent *lent, *youngest;  /* oldest first; youngest is meaningless if there is none */
	uint64_t length, passed;           /* of a message that comes in pieces; passed 0 = there is none */
	unsigned char *data;
};

struct shm {
	choir_transport base;
	void (*ring)(void *ctx, int peer);
	void (*release)(void *ctx);
	void *ctx;
	bool stopped;
	int next_source;         /* where poll begins, so that none is preferred */
	struct shm_out *out;     /* [n] */
	struct shm_in *in;       /* [n] */
	struct shm_send *sends;  /* all, to be freed at the end */
	struct shm_lent *unused; /* kept for reuse */
	struct blocks blocks;
};

static struct shm *self(choir_transport *transport)
{
	return (struct shm *)transport;
}

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

static choir_status stopped(void)
{
	return error_set(CHOIR_ABORTED, "the shared-memory transport was aborted");
}

static uint64_t record_of(uint64_t length)
{
	return (sizeof(struct shm_head) + length + RECORD_BYTES - 1) / RECORD_BYTES * RECORD_BYTES;
}

static bool is_whole(const struct fifo *fifo, uint64_t record)
{
	return record <= fifo->size / 16 * 5;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Head and body as one whole record, if there is room. */
static bool put_whole(struct fifo *fifo, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
	struct shm_head length = { .length = head_bytes + body_bytes }, to_front = { .length = HEAD_TO_FRONT };
	uint64_t record = record_of(length.length), to_end = fifo_to_end(fifo), skip = to_end < record ? to_end : 0, end;

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
		n = smaller(n, fifo_room(fifo, n));
		fifo_put(fifo, send->data + (send->passed - sizeof head), (size_t)n);
		send->passed += n;
	}
	if (send->passed >= data_end) {
		n = record_of(send->length) - send->passed;
		n = smaller(n, fifo_room(fifo, n));
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
	if (!is_whole(fifo, record_of(send->length)))
		return put_piece(fifo, send);
	if (!put_whole(fifo, send->data, (size_t)send->length, NULL, 0))
		return false;
	send->passed = record_of(send->length);
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
		if (send->passed < record_of(send->length))
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

static choir_status shm_send_start(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p)
{
	struct shm *me = self(transport);
	struct shm_send *send;

	if (me->stopped)
		return stopped();
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

static choir_status shm_send_now(choir_transport *transport, int peer, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
                                 int *done_p)
{
	struct shm *me = self(transport);
	struct shm_out *out = &me->out[peer];

	*done_p = 0;
	if (me->stopped)
		return stopped();
	if (out->head != NULL || body_bytes > out->fifo.size || !is_whole(&out->fifo, record_of(head_bytes + body_bytes)))
		return CHOIR_SUCCESS;
	*done_p = put_whole(&out->fifo, head, head_bytes, body, body_bytes);
	if (*done_p)
		me->ring(me->ctx, peer);
	return CHOIR_SUCCESS;
}

static choir_status shm_test(choir_transport *transport, void *request, int *done_p)
{
	struct shm *me = self(transport);
	struct shm_send *send = request;

	if (me->stopped)
		return stopped();
	if (!send->done)
		push(me, send->peer);
	*done_p = send->done;
	if (send->done)
		forget(me, send);
	return CHOIR_SUCCESS;
}

/* All up to here was read: it is free again, or goes back with the youngest that is lent. */
static void pass(struct shm *me, struct shm_in *in, int src)
{
	if (in->lent != NULL) {
		in->youngest->upto = in->fifo.at;
		return;
	}
	in->freed = in->fifo.at;
	fifo_free(&in->fifo, in->freed);
	me->ring(me->ctx, src);
}

static choir_status impossible(int src, uint64_t length)
{
	return error_set(CHOIR_TRANSPORT, "shared memory: endpoint %d announces a message of %llu bytes, which cannot be", src, (unsigned long long)length);
}

static choir_status lend(struct shm *me, struct shm_in *in, int src, uint64_t length, choir_message *message_p)
{
	uint64_t record = record_of(length);
	struct shm_lent *lent = me->unused;

	if (fifo_ready(&in->fifo, record) < record || fifo_to_end(&in->fifo) < record)
		return impossible(src, length);
	if (lent == NULL && (lent = malloc(sizeof *lent)) == NULL)
		return error_no_memory("a message", sizeof *lent);
	if (me->unused == lent)
		me->unused = lent->next;
	*message_p = (choir_message){ .peer = src, .bytes = (size_t)length, .data = fifo_tip(&in->fifo) + sizeof(struct shm_head), .impl = lent, .lent = 1 };
	in->fifo.at += record;
	*lent = (struct shm_lent){ .in = in, .upto = in->fifo.at };
	if (in->lent == NULL)
		in->lent = lent;
	else
		in->youngest->next = lent;
	in->youngest = lent;
	return CHOIR_SUCCESS;
}

/* Goes on with a message that comes in pieces; true once it is whole. */
static bool get_piece(struct shm *me, struct shm_in *in, int src)
{
	uint64_t before = in->passed, data_end = sizeof(struct shm_head) + in->length, n;

	if (in->passed < data_end) {
		n = smaller(data_end - in->passed, in->fifo.size); /* no more, whatever the counts say */
		n = smaller(n, fifo_ready(&in->fifo, n));
		fifo_get(&in->fifo, in->data + (in->passed - sizeof(struct shm_head)), (size_t)n);
		in->passed += n;
	}
	if (in->passed >= data_end) {
		n = record_of(in->length) - in->passed;
		n = smaller(n, fifo_ready(&in->fifo, n));
		in->fifo.at += n;
		in->passed += n;
	}
	if (in->passed > before)
		pass(me, in, src);
	return in->passed == record_of(in->length);
}

static void hand_over(struct shm_in *in, int src, choir_message *message_p)
{
	*message_p = (choir_message){ .peer = src, .bytes = (size_t)in->length, .data = in->data };
	in->passed = 0;
	in->data = NULL;
}

/* The next record's head.  *arrived_p = 1: the message is whole. */
static choir_status begin_record(struct shm *me, struct shm_in *in, int src, choir_message *message_p, int *arrived_p)
{
	struct shm_head head;

	memcpy(&head, fifo_tip(&in->fifo), sizeof head);
	if (head.length == HEAD_TO_FRONT) {
		uint64_t skip = fifo_to_end(&in->fifo);

		if (fifo_ready(&in->fifo, skip + RECORD_BYTES) < skip + RECORD_BYTES)
			return impossible(src, head.length);
		in->fifo.at += skip;
		memcpy(&head, fifo_tip(&in->fifo), sizeof head);
	}
	if (head.length > SHM_LONGEST_BYTES)
		return impossible(src, head.length);
	if (is_whole(&in->fifo, record_of(head.length))) {
		*arrived_p = 1;
		return lend(me, in, src, head.length, message_p);
	}
	in->data = blocks_take(&me->blocks, head.length);
	if (in->data == NULL)
		return CHOIR_NO_MEMORY;
	in->length = head.length;
	in->passed = sizeof head;
	in->fifo.at += sizeof head;
	return CHOIR_SUCCESS;
}

/* Reads what a source has written; *arrived_p = 1 once a message is whole. */
static choir_status pull(struct shm *me, int src, choir_message *message_p, int *arrived_p)
{
	struct shm_in *in = &me->in[src];
	uint64_t ready = fifo_ready(&in->fifo, RECORD_BYTES);

	if (ready > in->fifo.size)
		return error_set(CHOIR_TRANSPORT, "shared memory: the counts of endpoint %d's stream cannot be", src);
	if (in->passed == 0 && ready >= sizeof(struct shm_head))
		TRY(begin_record(me, in, src, message_p, arrived_p));
	if (in->passed > 0 && get_piece(me, in, src)) {
		hand_over(in, src, message_p);
		*arrived_p = 1;
	}
	return CHOIR_SUCCESS;
}

static choir_status shm_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	struct shm *me = self(transport);
	int n = transport->size, src = me->next_source;

	*arrived_p = 0;
	if (me->stopped)
		return stopped();
	for (int i = 0; i < n && !*arrived_p; i++) {
		TRY(pull(me, src, message_p, arrived_p));
		src = src + 1 < n ? src + 1 : 0;
	}
	if (*arrived_p)
		me->next_source = src;
	return CHOIR_SUCCESS;
}

/* Gives back the room of the oldest lent messages that have come back. */
static void give_lent(struct shm *me, struct shm_lent *lent)
{
	struct shm_in *in = lent->in;
	uint64_t before = in->freed;

	lent->given = true;
	while (in->lent != NULL && in->lent->given) {
		struct shm_lent *oldest = in->lent;

		in->freed = oldest->upto;
		in->lent = oldest->next;
		oldest->next = me->unused;
		me->unused = oldest;
	}
	if (in->freed == before)
		return;
	fifo_free(&in->fifo, in->freed);
	me->ring(me->ctx, (int)(in - me->in));
}

static void shm_give(choir_transport *transport, choir_message *message)
{
	struct shm *me = self(transport);

	if (message->impl != NULL)
		give_lent(me, message->impl);
	else
		blocks_give(&me->blocks, message->data);
}

static int shm_overdue(choir_transport *transport, const choir_message *message)
{
	const struct shm_in *in = &self(transport)->in[message->peer];

	return message->impl != NULL && in->fifo.at - in->freed > in->fifo.size / 16 * 6;
}

static void shm_abort(choir_transport *transport)
{
	self(transport)->stopped = true;
}

static void free_lent(struct shm_lent *lent)
{
	while (lent != NULL) {
		struct shm_lent *next = lent->next;

		free(lent);
		lent = next;
	}
}

static void free_shm(struct shm *me)
{
	for (int i = 0; me->in != NULL && i < me->base.size; i++) {
		blocks_give(&me->blocks, me->in[i].data);
		free_lent(me->in[i].lent);
	}
	free_lent(me->unused);
	while (me->sends != NULL)
		forget(me, me->sends);
	free(me->in);
	free(me->out);
	blocks_fini(&me->blocks);
	free(me);
}

static void shm_destroy(choir_transport *transport)
{
	struct shm *me = self(transport);
	void (*release)(void *ctx) = me->release;
	void *ctx = me->ctx;

	free_shm(me);
	release(ctx);
}

static const choir_transport_ops shm_ops = {
	.struct_size = sizeof(choir_transport_ops),
	.name = "shared memory",
	.polled = 0,
	.send = shm_send_start,
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
