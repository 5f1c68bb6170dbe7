/* SPDX-License-Identifier: MIT */
/* The list of a messenger's messages whose payload is in the transport's channel (Note [zero-copy receive]).  All
 * functions but zero_copy_hold run in a turn of the messenger (Note [messenger locks]). */
#ifndef NET_ZERO_COPY_H
#define NET_ZERO_COPY_H

#include "net/blocks.h"
#include "net/messenger.h"

struct zero_copy {
	struct message *oldest, **end;
};

void zero_copy_init(struct zero_copy *z);
void zero_copy_add(struct zero_copy *z, struct message *message);
void zero_copy_remove(struct zero_copy *z, struct message *message); /* silent if it is not in the list */

/* zero_copy_hold: from now on the payload does not move; waits for the end of a copy.  Any thread; also for a message
 * that was never in the channel. */
void zero_copy_hold(struct message *message);

/* zero_copy_move_overdue: copies the payload of each overdue message that no receiver holds to a block, and gives the
 * channel's memory back.  What there is no memory for stays overdue. */
void zero_copy_move_overdue(struct zero_copy *z, choir_transport *transport, struct blocks *blocks);

#endif
