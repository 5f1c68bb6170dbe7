/* SPDX-License-Identifier: MIT */
/* Note [shm stream].  In a FIFO stand 8 bytes of length and then the message, one after the other, with no padding; both parts pass in as
 * many pieces as the space allows.  The writer's queue for a peer is served in order, its head first, so the stream is never interleaved.
 * The reader has one assembly for each source.
 *
 * Whoever moved bytes rings the other side: a reader may wait for bytes and a writer for space.  The ring has a full fence in it (Note
 * [bell]), which orders it after the count that was raised. */
#include "net/shm.h"

#include "base/error.h"
#include "net/blocks.h"
#include "net/fifo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Above any message the library sends; a length beyond it was written by somebody else. */
#define SHM_LONGEST_BYTES ((uint64_t)1 << 40)

struct shm_send {
	struct shm_send *next; /* of the same peer, younger */
	struct shm_send *next_all, **prev_all;
	int peer;
	const unsigned char *data;
	uint64_t length; /* written first */
	uint64_t passed; /* of length and data together */
	bool done;
};

struct shm_out {
	struct fifo fifo;
	struct shm_send *head, **end;
};

struct shm_in {
	struct fifo fifo;
	uint64_t length, passed; /* as in shm_send */
	unsigned char *data;     /* NULL until the length is known */
};

struct shm {
	choir_transport base;
	void (*ring)(void *ctx, int peer);
	void (*release)(void *ctx);
	void *ctx;
	bool stopped;
	int next_source;        /* where poll begins, so that none is preferred */
	struct shm_out *out;    /* [n] */
	struct shm_in *in;      /* [n] */
	struct shm_send *sends; /* all, to be freed at the end */
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

/* Length first, then data.  True if anything moved. */
static bool write_some(const struct fifo *fifo, struct shm_send *send)
{
	uint64_t before = send->passed;

	if (send->passed < sizeof send->length)
		send->passed +=
		    fifo_write(fifo, (unsigned char *)&send->length + send->passed, (size_t)(sizeof send->length - send->passed));
	if (send->passed >= sizeof send->length)
		send->passed += fifo_write(fifo, send->data + (send->passed - sizeof send->length),
		                           (size_t)(send->length + sizeof send->length - send->passed));
	return send->passed > before;
}

/* Serves a peer's queue as far as there is space. */
static void push(struct shm *me, int peer)
{
	struct shm_out *out = &me->out[peer];
	bool moved = false;

	while (out->head != NULL) {
		struct shm_send *send = out->head;

		moved |= write_some(&out->fifo, send);
		if (send->passed < send->length + sizeof send->length)
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

/* The length is there: room for what follows. */
static choir_status begin_message(struct shm *me, struct shm_in *in, int src)
{
	if (in->length > SHM_LONGEST_BYTES)
		return error_set(CHOIR_TRANSPORT, "shared memory: endpoint %d announces a message of %llu bytes, which cannot be", src,
		                 (unsigned long long)in->length);
	in->data = blocks_take(&me->blocks, in->length);
	return in->data != NULL ? CHOIR_SUCCESS : CHOIR_NO_MEMORY;
}

/* Reads what a source has written; *complete_p = true once a message is whole. */
static choir_status pull(struct shm *me, int src, bool *complete_p)
{
	struct shm_in *in = &me->in[src];
	uint64_t before = in->passed;

	*complete_p = false;
	if (fifo_filled(&in->fifo) > in->fifo.size)
		return error_set(CHOIR_TRANSPORT, "shared memory: the counts of endpoint %d's stream cannot be", src);
	if (in->passed < sizeof in->length)
		in->passed += fifo_read(&in->fifo, (unsigned char *)&in->length + in->passed, (size_t)(sizeof in->length - in->passed));
	if (in->passed >= sizeof in->length) {
		if (in->data == NULL)
			TRY(begin_message(me, in, src));
		in->passed += fifo_read(&in->fifo, in->data + (in->passed - sizeof in->length),
		                        (size_t)(in->length + sizeof in->length - in->passed));
		*complete_p = in->passed == in->length + sizeof in->length;
	}
	if (in->passed > before)
		me->ring(me->ctx, src);
	return CHOIR_SUCCESS;
}

static void hand_over(struct shm_in *in, int src, choir_message *message_p)
{
	*message_p = (choir_message){ .peer = src, .bytes = (size_t)in->length, .data = in->data };
	in->passed = 0;
	in->data = NULL;
}

static choir_status shm_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	struct shm *me = self(transport);
	int n = transport->size;

	*arrived_p = 0;
	if (me->stopped)
		return stopped();
	for (int i = 0; i < n; i++) {
		int src = (me->next_source + i) % n;
		bool complete = false;

		TRY(pull(me, src, &complete));
		if (complete) {
			hand_over(&me->in[src], src, message_p);
			me->next_source = (src + 1) % n;
			*arrived_p = 1;
			return CHOIR_SUCCESS;
		}
	}
	return CHOIR_SUCCESS;
}

static void shm_give(choir_transport *transport, choir_message *message)
{
	blocks_give(&self(transport)->blocks, message->data);
}

static void shm_abort(choir_transport *transport)
{
	self(transport)->stopped = true;
}

static void free_shm(struct shm *me)
{
	for (int i = 0; me->in != NULL && i < me->base.size; i++)
		blocks_give(&me->blocks, me->in[i].data);
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
