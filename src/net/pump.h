/* SPDX-License-Identifier: MIT */
/* The pump: one a transport.  It serialises calls on the transport, keeps send buffers alive until the transport is
 * done with them, and hands each arriving message to the rank it is for.  Messages for a rank that is not attached yet
 * are kept, bounded. */
#ifndef NET_PUMP_H
#define NET_PUMP_H

#include "net/wire.h"

#include <choir/transport.h>
#include <stdbool.h>
#include <stdint.h>

struct pump;

/* A message as the pump delivers it.  Whoever holds it gives it back with pump_give. */
struct pump_message {
	struct pump_message *next; /* for the holder's lists */
	struct pump *pump;
	struct wire_header header; /* a copy */
	size_t payload_bytes;
	/* The pump's own. */
	const void *at; /* see pump_payload */
	choir_message raw;
	void *owned; /* the copy that `at` points to, where it is not the transport's memory */
	struct pump_message *younger, **older; /* of those that are lent */
	_Atomic int held; /* Note [lent messages] */
};

/* pump_payload: where the bytes are, until the message is given back.  Not to be asked for before they are wanted:
 * until then the pump may move them. */
const void *pump_payload(struct pump_message *message);

/* Where messages of one rank go: called with no lock of the rank's held but the pump's; must only queue the message and
 * ring. */
typedef void (*pump_deliver_fn)(void *ctx, struct pump_message *message);

/* pump_create: takes the transport over: it is destroyed with the pump (but stays the caller's if this fails).
 * Reference counted: sub-comms share it.  The last release comes after every message was given back; sends that are
 * still in flight then abort the transport.  NULL is silent. */
choir_status pump_create(choir_transport *transport, struct pump **out_p);
struct pump *pump_retain(struct pump *pump);
void pump_release(struct pump *pump);

/* pump_attach: messages for (comm, rank) go to fn(ctx) from now on, those kept for it at once, in the order in which
 * they came.  ARGUMENT if it is attached.
 * pump_detach: after it returns fn is not called again, no in_flight of that rank's sends is touched, and late messages
 * for it are dropped. */
choir_status pump_attach(struct pump *pump, uint64_t comm, int rank, pump_deliver_fn fn, void *ctx);
void pump_detach(struct pump *pump, uint64_t comm, int rank);

/* pump_send: starts sending header (magic and bytes_check are filled in) and payload to endpoint, in a copy unless the
 * transport takes them at once; the payload may be reused on return.  To my own endpoint it is delivered at once.
 * *in_flight (may be NULL) is raised by one now and lowered by one when the transport is done with it, or has failed.
 * Never waits for a peer.  TRANSPORT, NO_MEMORY, ABORTED. */
choir_status pump_send(struct pump *pump, int endpoint, const struct wire_header *header, const void *payload,
                       size_t payload_bytes, _Atomic int *in_flight);

/* pump_drive: tests sends, polls arrivals; *progress = true if anything happened, else false.  If another thread is at
 * it: success, no progress.  A transport's error, a message without our header, and more than PUMP_KEPT_MESSAGES or
 * PUMP_KEPT_BYTES for ranks not attached are final: every later call returns the same error. */
#define PUMP_KEPT_MESSAGES 1024
#define PUMP_KEPT_BYTES    ((uint64_t)64 << 20)
choir_status pump_drive(struct pump *pump, bool *progress);

/* pump_give: any thread, also under locks of the caller's.  The memory goes back at the next drive. */
void pump_give(struct pump_message *message);

void pump_abort(struct pump *pump);        /* no more sends; the transport is aborted */
bool pump_busy(struct pump *pump);         /* sends not yet done */
bool pump_sends(struct pump *pump, uint64_t comm, int rank); /* are any of them of that rank? */
bool pump_polled(const struct pump *pump); /* arrivals are seen only by driving */
/* of large transfers' messages: the transport's wish, else usual */
uint64_t pump_message_bytes(const struct pump *pump, uint64_t usual);
const char *pump_name(const struct pump *pump);
int pump_rank(const struct pump *pump);
choir_transport *pump_transport(const struct pump *pump); /* the pump's; tests reach the hub by it */

#endif
