/* SPDX-License-Identifier: MIT */
/* Note [lent messages].  A transport may lend a message where it lies in the channel, so that its bytes are copied
 * once, to where they are wanted.  Until somebody asks for them they may be moved: what holds up too much is copied in
 * the next turn and given back to the transport.  Who asks and who moves settle it by `held`: who changes it from
 * IN_CHANNEL has won, and who has lost to a move waits for its end, which is one copy away. */
#include "net/lending.h"

#include "base/error.h"
#include "base/wait.h"

#include <stdatomic.h>
#include <string.h>

enum { HELD_FOR_EVER, HELD_IN_CHANNEL, HELD_MOVING }; /* the first: where it is it stays until it is given back */

void lending_init(struct lending *lending)
{
	*lending = (struct lending){ .oldest = NULL };
	lending->end = &lending->oldest;
}

void lending_add(struct lending *lending, struct pump_message *message)
{
	atomic_store_explicit(&message->held, HELD_IN_CHANNEL, memory_order_relaxed);
	message->older = lending->end;
	*lending->end = message;
	lending->end = &message->younger;
}

void lending_remove(struct lending *lending, struct pump_message *message)
{
	if (message->older == NULL)
		return;
	*message->older = message->younger;
	if (message->younger != NULL)
		message->younger->older = message->older;
	else
		lending->end = message->older;
	message->older = NULL;
}

void lending_hold(struct pump_message *message)
{
	int held = HELD_IN_CHANNEL;

	if (atomic_load_explicit(&message->held, memory_order_acquire) == HELD_FOR_EVER)
		return;
	while (!atomic_compare_exchange_weak_explicit(&message->held, &held, HELD_FOR_EVER, memory_order_acquire,
	                                              memory_order_acquire) &&
	       held != HELD_FOR_EVER) {
		if (held == HELD_MOVING)
			wait_yield();
		held = HELD_IN_CHANNEL;
	}
}

/* Copies it, so that the channel is free, unless somebody wants the bytes just now. */
static choir_status move(struct lending *lending, choir_transport *transport, struct blocks *blocks,
                         struct pump_message *message)
{
	int held = HELD_IN_CHANNEL;
	void *copy;

	if (!atomic_compare_exchange_strong_explicit(&message->held, &held, HELD_MOVING, memory_order_relaxed,
	                                             memory_order_relaxed))
		return CHOIR_SUCCESS;
	copy = blocks_take(blocks, message->payload_bytes);
	if (copy != NULL) {
		memcpy(copy, message->at, message->payload_bytes);
		message->at = message->owned = copy;
		lending_remove(lending, message);
		transport->ops->give(transport, &message->raw);
	}
	atomic_store_explicit(&message->held, copy != NULL ? HELD_FOR_EVER : HELD_IN_CHANNEL, memory_order_release);
	return copy != NULL ? CHOIR_SUCCESS : CHOIR_NO_MEMORY;
}

choir_status lending_move_overdue(struct lending *lending, choir_transport *transport, struct blocks *blocks)
{
	for (struct pump_message *message = lending->oldest, *next; message != NULL; message = next) {
		next = message->younger;
		if (transport->ops->overdue(transport, &message->raw))
			TRY(move(lending, transport, blocks, message));
	}
	return CHOIR_SUCCESS;
}
