/* SPDX-License-Identifier: MIT */
/* The in-process transport: n endpoints of one process, joined by queues.  Tests inject faults into it. */
#ifndef NET_HUB_H
#define NET_HUB_H

#include <choir/transport.h>
#include <stdbool.h>
#include <stdint.h>

struct hub;

/* Faults; each is off at zero.  The seed decides them for each message, so that a run can be repeated. */
struct hub_faults {
	uint64_t seed;
	uint32_t delay_polls;   /* a message is delivered only after 0..delay_polls further polls of its receiver */
	bool reorder;           /* messages of a pair may overtake each other */
	uint32_t drop_per_1000; /* of 1000 messages so many are lost */
	int dead_endpoint;      /* if dead: this endpoint neither sends nor receives any more */
	bool dead;
	bool refuses; /* a send to the dead endpoint says so; else it is lost */
};

/* hub_create: n endpoints; transports_out[i] is endpoint i.  The hub is freed when the last of them is destroyed.
 * ARGUMENT, NO_MEMORY. */
choir_status hub_create(int n, choir_transport **transports_out, struct hub **hub_p);

/* hub_of: the hub of an endpoint; NULL for other transports. */
struct hub *hub_of(choir_transport *transport);

/* hub_set_faults: sets the faults of all messages from now on.  Any thread. */
void hub_set_faults(struct hub *hub, const struct hub_faults *faults);

#endif
