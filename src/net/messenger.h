/* SPDX-License-Identifier: MIT */
/* The messenger: message progress over one transport.  It makes one call on the transport at a time, keeps the data of
 * a send until the transport is done with it, and delivers each arriving message to its rank.  Messages for a rank that
 * is not attached yet are kept, up to a limit. */
#ifndef NET_MESSENGER_H
#define NET_MESSENGER_H

#include "net/wire.h"

#include <choir/transport.h>
#include <stdbool.h>
#include <stdint.h>

struct messenger;

/* A message that arrived.  Its receiver gives it back with message_give. */
struct message {
	struct message *next; /* for the receiver's lists */
	struct messenger *messenger;
	struct wire_header header; /* a copy */
	size_t payload_bytes;
	/* private to the messenger: */
	const void *at; /* the payload now; read it by message_payload */
	choir_message raw;
	void *owned; /* the block with the payload if the messenger has copied it; NULL: it is in the transport's memory
	              */
	struct message *younger, **older; /* Note [zero-copy receive] */
	_Atomic int held;
};

/* message_payload: the payload, valid until message_give.  Call it only when the bytes are needed: before, the
 * messenger may still move them (Note [zero-copy receive] in zero_copy.c).  Waits while they are moved. */
const void *message_payload(struct message *message);

/* Receives the messages of one rank.  It runs with a lock of the messenger held, so it sends nothing and waits for
 * nothing: it queues the message, or notes what it says. */
typedef void (*messenger_deliver_fn)(void *ctx, struct message *message);

/* messenger_create: a messenger with one reference.  It owns the transport and destroys it; on failure the caller still
 * owns it. messenger_release: the last one comes after all messages were given back; sends still in flight then abort
 * the transport. NULL is silent. */
choir_status messenger_create(choir_transport *transport, struct messenger **out_p);
struct messenger *messenger_retain(struct messenger *messenger);
void messenger_release(struct messenger *messenger);

/* messenger_attach: delivers messages for (comm, rank) to fn(ctx), first the kept ones, in order of arrival.  ARGUMENT
 * if the rank is attached already; NO_MEMORY. messenger_detach: when it returns fn is not called any more and the
 * in_flight counters of that rank's sends are not changed any more; later messages for the rank are dropped. */
choir_status messenger_attach(struct messenger *messenger, uint64_t comm, int rank, messenger_deliver_fn fn, void *ctx);
void messenger_detach(struct messenger *messenger, uint64_t comm, int rank);

/* messenger_send: starts sending header and payload to an endpoint; it sets the header's magic and bytes_check.  The
 * caller may reuse the payload on return.  A message to the own endpoint is delivered at once.  Where the send goes on
 * after the return, *in_flight (may be NULL) is raised by one now and lowered by one when the transport is done or has
 * failed. Never waits for a peer.  TRANSPORT, NO_MEMORY, ABORTED; PEER_DEAD: the endpoint is lost. */
choir_status messenger_send(struct messenger *messenger, int endpoint, const struct wire_header *header,
                            const void *payload, size_t payload_bytes, _Atomic int *in_flight);

/* messenger_has_room: may data be sent to that endpoint, or are too many sends to it in flight?  Note [room] in
 * net/sends.h.  messenger_send itself takes every message.  Any thread. */
bool messenger_has_room(const struct messenger *messenger, int endpoint);

/* messenger_drive: message progress: tests sends and polls arrivals.  *progress = true if a send ended or a message
 * arrived. Does nothing if another thread drives the messenger.  Final errors, which every later call returns too: an
 * error of the transport, a message without a valid header, more kept messages than MESSENGER_KEPT_MESSAGES or
 * MESSENGER_KEPT_BYTES. */
#define MESSENGER_KEPT_MESSAGES 1024
#define MESSENGER_KEPT_BYTES    ((uint64_t)64 << 20)
choir_status messenger_drive(struct messenger *messenger, bool *progress);

/* messenger_drive_until_short: messenger_drive for a call that waits for a message: over a polled transport it returns
 * after the first short arrival, since a look for another one may take a system call. */
choir_status messenger_drive_until_short(struct messenger *messenger, bool *progress);

/* message_give: gives a message back, from any thread, with any lock held.  The transport gets its memory back at the
 * next messenger_drive. */
void message_give(struct message *message);

/* messenger_lost: true once the transport could send no more to that endpoint, which it learns when it tries to;
 * messenger_any_lost: of any endpoint.  The others are reached as before.  Any thread. */
bool messenger_lost(const struct messenger *messenger, int endpoint);
bool messenger_any_lost(const struct messenger *messenger);

void messenger_abort(struct messenger *messenger);    /* aborts the transport; later calls return ABORTED */
bool messenger_busy(struct messenger *messenger);     /* true while a send is in flight */
bool messenger_is_free(struct messenger *messenger);  /* false while a thread calls the transport: also this one */
int messenger_in_flight(struct messenger *messenger); /* how many are */
bool messenger_sends(struct messenger *messenger, uint64_t comm,
                     int rank);                           /* true while a send of that rank is in flight */
bool messenger_polled(const struct messenger *messenger); /* true if only messenger_drive sees arrivals */
/* transport_message_bytes: what a transport's table says, also of one that was not checked; 0 = nothing, or NULL.
 * messenger_message_bytes: the size of the messages that large transfers are cut into: the transport's own, else usual.
 */
uint64_t transport_message_bytes(const choir_transport *transport);
uint64_t messenger_message_bytes(const struct messenger *messenger, uint64_t usual);
const char *messenger_name(const struct messenger *messenger);           /* the transport's name */
bool messenger_lacks_memory(const struct messenger *messenger);          /* for a message that has come; any thread */
int messenger_rank(const struct messenger *messenger);                   /* the own endpoint */
choir_transport *messenger_transport(const struct messenger *messenger); /* for tests, which reach the hub by it */

#endif
