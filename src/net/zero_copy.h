/* SPDX-License-Identifier: MIT */
/* Zero-copy receive: the messages of a pump that lie in the channel, lent by the transport (Note [lent messages]).  All
 * in a turn of the pump's, but zero_copy_hold. */
#ifndef NET_ZERO_COPY_H
#define NET_ZERO_COPY_H

#include "net/blocks.h"
#include "net/pump.h"

struct zero_copy {
	struct pump_message *oldest, **end;
};

void zero_copy_init(struct zero_copy *z);
void zero_copy_add(struct zero_copy *z, struct pump_message *message);
void zero_copy_remove(struct zero_copy *z, struct pump_message *message); /* silent if the message is not lent */

/* zero_copy_hold: from now on the message does not move; waits for a copy under way.  Any thread; also for a message
 * that was never lent. */
void zero_copy_hold(struct pump_message *message);

/* zero_copy_move_overdue: copies into blocks, and gives back, each message that the transport calls overdue and no
 * receiver holds.  NO_MEMORY. */
choir_status zero_copy_move_overdue(struct zero_copy *z, choir_transport *transport, struct blocks *blocks);

#endif
