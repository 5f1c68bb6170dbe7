/* SPDX-License-Identifier: MIT */
/* The pump: message progress over one transport.  It makes one call on the transport at a time, keeps the data of a
 * send until the transport is done with it, and delivers each arriving message to its rank.  Messages for a rank that
 * is not attached yet are kept, up to a limit. */
#ifndef NET_PUMP_H
#define NET_PUMP_H

#include "net/wire.h"

#include <choir/transport.h>
#include <stdbool.h>
#include <stdint.h>

struct pump;

/* A message that arrived.  Its receiver gives it back with pump_give. */
struct pump_message {
	struct pump_message *next; /* for the receiver's lists */
	struct pump *pump;
	struct wire_header header; /* a copy */
	size_t payload_bytes;
	/* private to the pump: */
	const void *at; /* the payload now; read it by pump_payload */
	choir_message raw;
	void *owned; /* the block with the payload if the pump has copied it; NULL: it is in the transport's memory */
	struct pump_message *younger, **older; /* the list of lent messages */
	_Atomic int held;                      /* Note [lent messages] */
};

/* pump_payload: the payload, valid until pump_give.  Call it only when the bytes are needed: before, the pump may still
 * move them (Note [lent messages] in zero_copy.c).  Waits while they are moved. */
const void *pump_payload(struct pump_message *message);

/* Receives the messages of one rank.  It runs with a lock of the pump held, so it may only queue the message and ring
 * the bell. */
typedef void (*pump_deliver_fn)(void *ctx, struct pump_message *message);

/* pump_create: a pump with one reference.  It owns the transport and destroys it; on failure the caller still owns it.
 * pump_release: the last one comes after all messages were given back; sends still in flight then abort the transport.
 * NULL is silent. */
choir_status pump_create(choir_transport *transport, struct pump **out_p);
struct pump *pump_retain(struct pump *pump);
void pump_release(struct pump *pump);

/* pump_attach: delivers messages for (comm, rank) to fn(ctx), first the kept ones, in order of arrival.  ARGUMENT if
 * the rank is attached already; NO_MEMORY.
 * pump_detach: when it returns fn is not called any more and the in_flight counters of that rank's sends are not
 * changed any more; later messages for the rank are dropped. */
choir_status pump_attach(struct pump *pump, uint64_t comm, int rank, pump_deliver_fn fn, void *ctx);
void pump_detach(struct pump *pump, uint64_t comm, int rank);

/* pump_send: starts sending header and payload to an endpoint; it sets the header's magic and bytes_check.  The caller
 * may reuse the payload on return.  A message to the own endpoint is delivered at once.  Where the send goes on after
 * the return, *in_flight (may be NULL) is raised by one now and lowered by one when the transport is done or has
 * failed. Never waits for a peer.  TRANSPORT, NO_MEMORY, ABORTED. */
choir_status pump_send(struct pump *pump, int endpoint, const struct wire_header *header, const void *payload,
                       size_t payload_bytes, _Atomic int *in_flight);

/* pump_drive: message progress: tests sends and polls arrivals.  *progress = true if a send ended or a message arrived.
 * Does nothing if another thread drives the pump.  Final errors, which every later call returns too: an error of the
 * transport, a message without a valid header, more kept messages than PUMP_KEPT_MESSAGES or PUMP_KEPT_BYTES. */
#define PUMP_KEPT_MESSAGES 1024
#define PUMP_KEPT_BYTES    ((uint64_t)64 << 20)
choir_status pump_drive(struct pump *pump, bool *progress);

/* pump_give: gives a message back, from any thread, with any lock held.  The transport gets its memory back at the next
 * pump_drive. */
void pump_give(struct pump_message *message);

void pump_abort(struct pump *pump);                          /* aborts the transport; later calls return ABORTED */
bool pump_busy(struct pump *pump);                           /* true while a send is in flight */
bool pump_sends(struct pump *pump, uint64_t comm, int rank); /* true while a send of that rank is in flight */
bool pump_polled(const struct pump *pump);                   /* true if only pump_drive sees arrivals */
/* pump_message_bytes: the size of the messages that large transfers are cut into: the transport's own, else usual. */
uint64_t pump_message_bytes(const struct pump *pump, uint64_t usual);
const char *pump_name(const struct pump *pump);           /* the transport's name */
int pump_rank(const struct pump *pump);                   /* the own endpoint */
choir_transport *pump_transport(const struct pump *pump); /* for tests, which reach the hub by it */

#endif
