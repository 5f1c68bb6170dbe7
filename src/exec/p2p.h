/* SPDX-License-Identifier: MIT */
/* Messages between ranks of a node, of send and recv and of the plans of collectives, through the p2p rings of the
 * arena instead of the transport.
 *
 * Each piece of a message goes for itself: the sender takes the ring if it has room, else the transport; the receiver
 * looks in both, for the call's number and the piece's tag.  Pieces may be taken in any order. */
#ifndef EXEC_P2P_H
#define EXEC_P2P_H

#include "exec/run.h"

/* p2p_put: puts the message of a step into the ring; false: the ring has no room, or there is none to that rank or for
 * that run.  That of a sendrecv may fill a piece of what the recv receives: Note [both at once]. */
bool p2p_put(struct run *run, const struct plan_step *step);

/* p2p_put_soon: p2p_put that waits for a moment for room, unless it did so in vain and the peer has taken nothing
 * since. */
bool p2p_put_soon(struct run *run, const struct plan_step *step);

/* p2p_take: takes the message of a step, if it is in the ring: *done.  MISMATCH. */
choir_status p2p_take(struct run *run, const struct plan_step *step, bool *done);

/* p2p_other_tag: is there a message for another tag in the ring from the recv's peer?  *tag_p: the oldest one's. */
bool p2p_other_tag(const struct run *run, uint32_t *tag_p);

#endif
