/* SPDX-License-Identifier: MIT */
/* An endpoint of the shared-memory transport. */
#ifndef NET_SHM_STATE_H
#define NET_SHM_STATE_H

#include "base/error.h"
#include "base/ring.h"
#include "net/blocks.h"

#include <choir/transport.h>
#include <stdbool.h>

struct shm_send {
	struct shm_send *next; /* the next younger send to the same peer */
	struct shm_send *next_all, **prev_all;
	int peer;
	const unsigned char *data;
	uint64_t length, passed;
	bool done;
};

struct shm_out {
	struct ring *ring; /* NULL until the first send */
	struct shm_send *head, **end;
};

struct shm_in {
	struct ring *ring;         /* NULL until the sender has begun */
	uint64_t next;             /* the number of the next item to read */
	uint64_t read;             /* bytes of room that all items before it took */
	uint64_t ends[RING_ITEMS]; /* `read` behind each item */
	unsigned char *data;       /* block of the message that arrives in pieces; NULL = none does */
	uint64_t length, passed;
};

struct shm {
	choir_transport base;
	void *memory;
	choir_status (*take)(void *ctx, uint64_t off, uint64_t bytes);
	void (*wake)(void *ctx, int peer);
	void (*release)(void *ctx);
	void *ctx;
	bool stopped;
	int next_source; /* the source that poll reads first, so that none is preferred */
	uint64_t ring_bytes;
	struct shm_out *out;    /* [n] */
	struct shm_in *in;      /* [n] */
	struct shm_send *sends; /* all unfinished sends, to free them at the end */
	struct blocks blocks;
};

static inline struct shm *shm_self(choir_transport *transport)
{
	return (struct shm *)transport;
}

static inline choir_status shm_stopped(void)
{
	return error_set(CHOIR_ABORTED, "the shared-memory transport was aborted");
}

static inline uint64_t shm_piece_bytes(const struct shm *me)
{
	return me->ring_bytes / 4;
}

static inline uint64_t shm_next_piece(const struct shm *me, uint64_t length, uint64_t passed)
{
	return length - passed < shm_piece_bytes(me) ? length - passed : shm_piece_bytes(me);
}

/* In shm_board.c.  shm_begin: the ring to the peer is there, as the peer sees; NO_MEMORY.  shm_has_begun: is the ring
 * from the source there? */
choir_status shm_begin(struct shm *me, int peer);
bool shm_has_begun(struct shm *me, int src);

/* In shm_send.c: operations of choir_transport_ops.  shm_forget: frees a send that is done or given up. */
choir_status shm_send(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p);
choir_status shm_send_now(choir_transport *transport, int peer, const void *head, size_t head_bytes, const void *body,
                          size_t body_bytes, int *done_p);
choir_status shm_test(choir_transport *transport, void *request, int *done_p);
void shm_forget(struct shm *me, struct shm_send *send);

#endif
