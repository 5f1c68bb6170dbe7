/* SPDX-License-Identifier: MIT */
/* The sends of a pump that its transport is not done with, oldest first.  All in a turn of the pump's; n may be read
 * without. */
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
	_Atomic int *in_flight; /* NULL: nobody counts (any more) */
	uint64_t comm;
	int src;
};

struct sends {
	struct send *oldest, **end;
	_Atomic int n;
};

void sends_init(struct sends *sends);

/* sends_start: hands send->data to the transport; send and its data are blocks and belong to the list from now on, also
 * after an error of the transport's, when sends_sweep takes them away with the others. */
choir_status sends_start(struct sends *sends, choir_transport *transport, struct blocks *blocks, int endpoint,
                         struct send *send, size_t bytes);

/* sends_test: forgets those that are done; *progress = true if any was, else it is left alone. */
choir_status sends_test(struct sends *sends, choir_transport *transport, struct blocks *blocks, bool *progress);

/* sends_sweep: the transport failed: data that it may still read is quarantined, all is forgotten. */
void sends_sweep(struct sends *sends, struct blocks *blocks);

/* sends_any: is any of that rank there? */
bool sends_any(const struct sends *sends, uint64_t comm, int src);

/* sends_uncount: the in_flight of this rank's sends is not touched any more. */
void sends_uncount(struct sends *sends, uint64_t comm, int src);

#endif
