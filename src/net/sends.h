/* SPDX-License-Identifier: MIT */
/* The list of a messenger's sends in flight, oldest first.  All functions but sends_has_room run in a turn of the
 * messenger (Note [messenger locks]); n may be read without.
 *
 * Note [room].  A peer process that is stopped, or busy outside the library, takes no messages, and those for it stay
 * here.  A rank that only sends would fill memory with them, and no deadline would end that, since none of its calls
 * waits.  So an endpoint has no room from SENDS_ROOM bytes in flight on until half of them have left, and a step that
 * sends data to it waits like a recv (start_send in exec/steps.c).  No circle of ranks waits for room: it comes by
 * message progress in the peer's process, never by a recv of a certain call, and a thread that waits in the library
 * makes that progress for all comms of its process.  The library's own messages (failures, questions, signs) never
 * wait. */
#ifndef NET_SENDS_H
#define NET_SENDS_H

#include "net/blocks.h"

#include <choir/transport.h>
#include <stdatomic.h>
#include <stdbool.h>

/* SEND_COST: about the bytes that a send takes beside its data: empty messages fill memory too. */
enum { SENDS_ROOM = 16 << 20, SEND_COST = 1024 };

struct send {
	struct send *next;
	void *request;
	void *data;
	_Atomic int *in_flight; /* counter to lower when the send ends; NULL: none */
	uint64_t comm;
	uint64_t cost; /* data and SEND_COST */
	int src;
	int endpoint;
};

/* The sends in flight to an endpoint; full: it has no room. */
struct backlog {
	uint64_t bytes;
	_Atomic bool full;
};

struct sends {
	struct send *oldest, **end;
	_Atomic int n;
	struct backlog *backlogs; /* [n_endpoints] */
};

/* sends_init: an empty list of sends to n_endpoints.  NO_MEMORY.  sends_fini: also of one that is all zero. */
choir_status sends_init(struct sends *sends, int n_endpoints);
void sends_fini(struct sends *sends);

/* sends_has_room: may a message of data be sent to that endpoint now?  Note [room].  Any thread. */
static inline bool sends_has_room(const struct sends *sends, int endpoint)
{
	return !atomic_load_explicit(&sends->backlogs[endpoint].full, memory_order_relaxed);
}

/* sends_start: gives send->data to the transport.  send and data are blocks that the list now owns, also after an error
 * of the transport, when the caller calls sends_sweep.  After NO_MEMORY and PEER_DEAD they are freed. */
choir_status sends_start(struct sends *sends, choir_transport *transport, struct blocks *blocks, struct send *send,
                         size_t bytes);

/* sends_test: tests the sends and forgets those that are done; *progress = true if any was, else unchanged.  PEER_DEAD:
 * the endpoint *lost_p is lost; the send to it is forgotten, its data quarantined. */
choir_status sends_test(struct sends *sends, choir_transport *transport, struct blocks *blocks, bool *progress,
                        int *lost_p);

/* sends_sweep: after a failure of the transport: quarantines the data of all sends and forgets them. */
void sends_sweep(struct sends *sends, struct blocks *blocks);

/* sends_any: true if a send of that rank is in flight. */
bool sends_any(const struct sends *sends, uint64_t comm, int src);

/* sends_uncount: from now on the in_flight counters of that rank's sends are not changed. */
void sends_uncount(struct sends *sends, uint64_t comm, int src);

#endif
