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
#ifndef NET_SHM_SIDES_H
#define NET_SHM_SIDES_H

#include "net/blocks.h"
#include "net/fifo.h"

#include <choir/transport.h>
#include <stdbool.h>

#define RECORD_BYTES  ((uint64_t)64)
#define HEAD_TO_FRONT UINT64_MAX /* instead of a length: the next record is at the memory's front */

struct shm_head {
	uint64_t length, unused;
};

struct shm_send;
struct shm_lent;

struct shm_out {
	struct fifo fifo;
	struct shm_send *head, **end;
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

static inline struct shm *shm_self(choir_transport *transport)
{
	return (struct shm *)transport;
}

static inline uint64_t shm_record_of(uint64_t length)
{
	return (sizeof(struct shm_head) + length + RECORD_BYTES - 1) / RECORD_BYTES * RECORD_BYTES;
}

static inline bool shm_is_whole(const struct fifo *fifo, uint64_t record)
{
	return record <= fifo->size / 16 * 5;
}

static inline uint64_t shm_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* shm_check: ABORTED once the endpoint was aborted. */
choir_status shm_check(const struct shm *me);

/* The writing side: operations of the transport; shm_forget_sends drops those that are not done. */
choir_status shm_send(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p);
choir_status shm_send_now(choir_transport *transport, int peer, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
                          int *done_p);
choir_status shm_test(choir_transport *transport, void *request, int *done_p);
void shm_forget_sends(struct shm *me);

/* The reading side; shm_forget_lent drops what was read or lent and not given back. */
choir_status shm_poll(choir_transport *transport, choir_message *message_p, int *arrived_p);
void shm_give(choir_transport *transport, choir_message *message);
int shm_overdue(choir_transport *transport, const choir_message *message);
void shm_forget_lent(struct shm *me);

#endif
