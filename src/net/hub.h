/* SPDX-License-Identifier: MIT */
/* The in-process transport: n endpoints of one process joined by queues.  Local comms use it, and tests make it a bad
 * network. */
#ifndef NET_HUB_H
#define NET_HUB_H

#include <choir/transport.h>
#include <stdbool.h>
#include <stdint.h>

struct hub;

/* Faults, each off at zero.  Decided per message from the seed, so a run can be repeated. */
struct hub_faults {
	uint64_t seed;
	uint32_t delay_polls; /* a message is seen only after 0..delay_polls further polls of its receiver */
	bool reorder;         /* messages of a pair may overtake each other */
	uint32_t drop_per_1000;
	int dead_endpoint; /* >= 0 with dead set: this endpoint neither sends nor receives any more */
	bool dead;
};

/* hub_create: n endpoints; transports_out[i] is endpoint i's.  The hub goes when the last of them is destroyed. */
choir_status hub_create(int n, choir_transport **transports_out, struct hub **hub_p);

/* hub_of: the hub of one of its endpoints; NULL for other transports. */
struct hub *hub_of(choir_transport *transport);

/* hub_set_faults: from now on; any thread. */
void hub_set_faults(struct hub *hub, const struct hub_faults *faults);

#endif
