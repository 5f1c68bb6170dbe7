/* SPDX-License-Identifier: MIT */
/* Messages of send and recv between ranks of a node, through the p2p rings of the arena instead of the transport.
 *
 * Each piece of a message goes for itself: the sender takes the ring if it has room, else the transport; the receiver
 * looks in both, for the pair's message number and the piece's tag.  Pieces may be taken in any order. */
#ifndef EXEC_P2P_H
#define EXEC_P2P_H

#include "exec/run.h"

/* p2p_put: puts a piece of a send into the ring; false: the ring has no room, or there is no ring to that rank. */
bool p2p_put(struct run *run, const struct plan_step *step);

/* p2p_put_soon: p2p_put that waits for a moment for room, unless it did so in vain and the peer has taken nothing
 * since. */
bool p2p_put_soon(struct run *run, const struct plan_step *step);

/* p2p_take: takes a piece of a recv, if it is in the ring: *done.  MISMATCH. */
choir_status p2p_take(struct run *run, const struct plan_step *step, bool *done);

/* p2p_other_tag: is there a message for another tag in the ring from the recv's peer?  *tag_p: the oldest one's. */
bool p2p_other_tag(const struct run *run, uint32_t *tag_p);

#endif
