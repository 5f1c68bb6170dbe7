/* SPDX-License-Identifier: MIT */
/* The list of a messenger's sends in flight, oldest first.  All functions run in a turn of the messenger (Note
 * [messenger locks]); n may be read without. */
#ifndef NET_SENDS_H
#define NET_SENDS_H

#include "net/blocks.h"

#include <choir/transport.h>
#include <stdatomic.h>
#include <stdbool.h>

struct send {
	struct send *next;
	void *request;
	void *data;
	_Atomic int *in_flight; /* counter to lower when the send ends; NULL: none */
	uint64_t comm;
	int src;
	int endpoint;
};

struct sends {
	struct send *oldest, **end;
	_Atomic int n;
};

void sends_init(struct sends *sends);

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
