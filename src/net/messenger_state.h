/* SPDX-License-Identifier: MIT */
/* The state of a messenger, and what messenger.c and messenger_send.c both do in a turn (Note [messenger locks]). */
#ifndef NET_MESSENGER_STATE_H
#define NET_MESSENGER_STATE_H

#include "base/error.h"
#include "net/blocks.h"
#include "net/routes.h"
#include "net/sends.h"
#include "net/zero_copy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct messenger {
	choir_transport *transport;
	_Atomic int refs;
	pthread_mutex_t turn;
	_Atomic int waiting;        /* threads that wait for turn */
	struct sends sends;         /* under turn, except its count and room */
	struct zero_copy zero_copy; /* under turn */
	choir_message unopened;     /* under turn: an arrival for which there was no memory yet */
	bool has_unopened;
	_Atomic bool lacks_memory;       /* the last look at the transport found none for an arrival */
	_Atomic(struct message *) given; /* messages to give back to the transport */
	_Atomic int failed;              /* a choir_status; once it is set fail_text does not change */
	_Atomic bool *lost;              /* [endpoints] */
	_Atomic bool any_lost;
	char fail_text[ERROR_TEXT_BYTES];
	struct blocks blocks;
	struct routes routes;
};

static inline bool messenger_has_op(const struct messenger *messenger, size_t end_of_op)
{
	return messenger->transport->ops->struct_size >= end_of_op;
}

#define END_OF_OP(op) (offsetof(choir_transport_ops, op) + sizeof(((choir_transport_ops *)NULL)->op))

/* messenger_take_turn, messenger_give_turn: bracket a call on the transport.
 * messenger_failure: SUCCESS, or the final error.  messenger_fail: in a turn: makes this thread's last error final.
 * messenger_lose: the transport said that the endpoint is lost. */
void messenger_take_turn(struct messenger *messenger);
void messenger_give_turn(struct messenger *messenger);
choir_status messenger_failure(struct messenger *messenger);
choir_status messenger_fail(struct messenger *messenger, choir_status status);
void messenger_lose(struct messenger *messenger, int endpoint);

/* messenger_open: makes a received packet a message of this messenger.
 * messenger_route: gives the message to its rank; in a turn, but for a message of a rank to itself.  An error is to be
 * made final. */
choir_status messenger_open(struct messenger *messenger, int peer, const void *data, size_t bytes,
                            struct message **out_p);
choir_status messenger_route(struct messenger *messenger, struct message *message);

#endif
