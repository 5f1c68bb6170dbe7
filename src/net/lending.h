/* SPDX-License-Identifier: MIT */
/* The messages of a pump that lie in the channel, lent by the transport: Note [lent messages].  All in a turn of the
 * pump's, but lending_hold. */
#ifndef NET_LENDING_H
#define NET_LENDING_H

#include "net/blocks.h"
#include "net/pump.h"

struct lending {
	struct pump_message *oldest, **end;
};

void lending_init(struct lending *lending);
void lending_add(struct lending *lending, struct pump_message *message);
void lending_remove(struct lending *lending, struct pump_message *message); /* silent about one that is not there */

/* lending_hold: from now on the message stays where it is; waits for a copy under way.  Any thread; also for a message
 * that was never lent. */
void lending_hold(struct pump_message *message);

/* lending_move_overdue: copies into blocks, and gives back, what the transport calls overdue and nobody holds.
 * NO_MEMORY. */
choir_status lending_move_overdue(struct lending *lending, choir_transport *transport, struct blocks *blocks);

#endif
