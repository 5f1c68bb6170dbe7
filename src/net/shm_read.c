/* SPDX-License-Identifier: MIT */
/* The reading side of the shared-memory transport: Note [shm lending]. */
#include "net/shm_sides.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Above any message the library sends; a length beyond it was written by somebody else. */
#define SHM_LONGEST_BYTES ((uint64_t)1 << 40)

/* A message that is lent; with it goes what was read up to the next lent one. */
struct shm_lent {
	struct shm_lent *next; /* of the same source, younger; of the unused ones, any */
	struct shm_in *in;
	uint64_t upto;
	bool given;
};

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
	return error_set(CHOIR_TRANSPORT, "shared memory: endpoint %d announces a message of %llu bytes, which cannot be", src,
	                 (unsigned long long)length);
}

static choir_status lend(struct shm *me, struct shm_in *in, int src, uint64_t length, choir_message *message_p)
{
	uint64_t record = shm_record_of(length);
	struct shm_lent *lent = me->unused;

	if (fifo_ready(&in->fifo, record) < record || fifo_to_end(&in->fifo) < record)
		return impossible(src, length);
	if (lent == NULL && (lent = malloc(sizeof *lent)) == NULL)
		return error_no_memory("a message", sizeof *lent);
	if (me->unused == lent)
		me->unused = lent->next;
	*message_p = (choir_message){ .peer = src, .bytes = (size_t)length, .data = fifo_tip(&in->fifo) + sizeof(struct shm_head),
		                      .impl = lent, .lent = 1 };
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
		n = shm_smaller(data_end - in->passed, in->fifo.size); /* no more, whatever the counts say */
		n = shm_smaller(n, fifo_ready(&in->fifo, n));
		fifo_get(&in->fifo, in->data + (in->passed - sizeof(struct shm_head)), (size_t)n);
		in->passed += n;
	}
	if (in->passed >= data_end) {
		n = shm_record_of(in->length) - in->passed;
		n = shm_smaller(n, fifo_ready(&in->fifo, n));
		in->fifo.at += n;
		in->passed += n;
	}
	if (in->passed > before)
		pass(me, in, src);
	return in->passed == shm_record_of(in->length);
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
	if (shm_is_whole(&in->fifo, shm_record_of(head.length))) {
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

choir_status shm_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	struct shm *me = shm_self(transport);
	int n = transport->size, src = me->next_source;

	*arrived_p = 0;
	TRY(shm_check(me));
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

void shm_give(choir_transport *transport, choir_message *message)
{
	struct shm *me = shm_self(transport);

	if (message->impl != NULL)
		give_lent(me, message->impl);
	else
		blocks_give(&me->blocks, message->data);
}

int shm_overdue(choir_transport *transport, const choir_message *message)
{
	const struct shm_in *in = &shm_self(transport)->in[message->peer];

	return message->impl != NULL && in->fifo.at - in->freed > in->fifo.size / 16 * 6;
}

static void free_lent(struct shm_lent *lent)
{
	while (lent != NULL) {
		struct shm_lent *next = lent->next;

		free(lent);
		lent = next;
	}
}

void shm_forget_lent(struct shm *me)
{
	for (int i = 0; me->in != NULL && i < me->base.size; i++) {
		blocks_give(&me->blocks, me->in[i].data);
		free_lent(me->in[i].lent);
	}
	free_lent(me->unused);
}
