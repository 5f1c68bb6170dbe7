/* SPDX-License-Identifier: MIT */
/* Note [zero-copy receive].  A message's payload may lie in the memory of the transport's channel, so that the bytes
 * are copied once, to the receiver's buffer.  Until the receiver calls message_payload the messenger may move the
 * payload: if the message is overdue, which means it blocks too much of the channel, the next turn copies it to a block
 * and gives the channel's memory back.  The receiver and the messenger race for `held`: the thread that changes it from
 * IN_CHANNEL wins, and a receiver that loses waits for the end of the copy. */
#include "net/zero_copy.h"

#include "base/error.h"
#include "base/wait.h"

#include <stdatomic.h>
#include <string.h>

enum { HELD_FOR_EVER, HELD_IN_CHANNEL, HELD_MOVING }; /* FOR_EVER: the payload does not move until message_give */

void zero_copy_init(struct zero_copy *z)
{
	*z = (struct zero_copy){ .oldest = NULL };
	z->end = &z->oldest;
}

void zero_copy_add(struct zero_copy *z, struct message *message)
{
	atomic_store_explicit(&message->held, HELD_IN_CHANNEL, memory_order_relaxed);
	message->older = z->end;
	*z->end = message;
	z->end = &message->younger;
}

void zero_copy_remove(struct zero_copy *z, struct message *message)
{
	if (message->older == NULL)
		return;
	*message->older = message->younger;
	if (message->younger != NULL)
		message->younger->older = message->older;
	else
		z->end = message->older;
	message->older = NULL;
}

void zero_copy_hold(struct message *message)
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

/* Copies the payload to a block and frees the channel, unless the receiver holds the message, or there is no memory
 * now. */
static void move(struct zero_copy *z, choir_transport *transport, struct blocks *blocks, struct message *message)
{
	int held = HELD_IN_CHANNEL;
	void *copy;

	if (!atomic_compare_exchange_strong_explicit(&message->held, &held, HELD_MOVING, memory_order_relaxed,
	                                             memory_order_relaxed))
		return;
	copy = blocks_take(blocks, message->payload_bytes);
	if (copy != NULL) {
		memcpy(copy, message->at, message->payload_bytes);
		message->at = message->owned = copy;
		zero_copy_remove(z, message);
		transport->ops->give(transport, &message->raw);
	}
	atomic_store_explicit(&message->held, copy != NULL ? HELD_FOR_EVER : HELD_IN_CHANNEL, memory_order_release);
}

void zero_copy_move_overdue(struct zero_copy *z, choir_transport *transport, struct blocks *blocks)
{
	for (struct message *message = z->oldest, *next; message != NULL; message = next) {
		next = message->younger;
		if (transport->ops->overdue(transport, &message->raw))
			move(z, transport, blocks, message);
	}
}
