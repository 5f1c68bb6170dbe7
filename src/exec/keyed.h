/* SPDX-License-Identifier: MIT */
/* Keyed comms: calls match by key instead of by order.
 *
 * Note [keyed calls].  Below this layer calls have one order on all ranks.  A keyed call is held back: its rank says
 * the key, and once all ranks have said it the key enters one order, by which every rank submits its held calls.  So a
 * key that a rank does not make holds up no other key, as long as the tables have room.  On one node ranks say keys on
 * the node's key board, and the last of them to say one writes it into the order: two cache lines move, and no rank
 * must be awake but those that call.  Between nodes the rank that completes a key on its node tells rank 0 (WIRE_KEY),
 * which orders the keys that all nodes have said and tells the first rank of each node, which writes the node's order.
 * Only drivers do any of this.  A key for which the board has no room is said later: Note [no room for keys] in
 * keyed.c.
 *
 * A rank that waits for long asks the ranks of other nodes who has made the call, and names (keyed_check.c):
 *   those that have not made it;
 *   if a rank has begun it, so that all have made it: the one that should have told this node;
 *   where the ranks of a node have said the key and its first rank gives no sign: that one. */
#ifndef EXEC_KEYED_H
#define EXEC_KEYED_H

#include "exec/run.h"

struct keyed;

choir_status keyed_create(struct choir_comm *comm, struct keyed **out_p);
void keyed_destroy(struct keyed *keyed); /* NULL is silent; no call is held */

/* keyed_hold: holds the parts of a call (run_share_event), which are counted as unfinished, back until its key is
 * ordered.  ARGUMENT: no key, or one that is under way; NO_MEMORY: all parts are still the caller's.  Any thread. */
choir_status keyed_hold(struct run *const *parts, size_t n);

/* keyed_is_free: ARGUMENT: a call with that key is under way on this rank.  Any thread. */
choir_status keyed_is_free(struct keyed *keyed, const char *key);

/* keyed_drive: says keys and takes the calls that are ordered: *ordered, linked by `next`, for submit_held.  *ended:
 * the calls that the comm's failure ends.  True if anything moved.  The driver only. */
bool keyed_drive(struct choir_comm *comm, struct run **ordered, struct run **ended);

/* keyed_holds: is any call held back? */
bool keyed_holds(const struct keyed *keyed);

/* keyed_check (in keyed_check.c): the slow check at held calls: deadlines, ranks that are dead or gone.  The driver
 * only. */
void keyed_check(struct choir_comm *comm, int64_t now_ns);

/* keyed_is_late: had a held call waited for LIVENESS_SIGN_MS at the last slow check?  The driver only. */
bool keyed_is_late(const struct keyed *keyed);

/* keyed_awaited: the rank that such a call waited for then, -1: none or not known.  The driver only. */
int keyed_awaited(const struct keyed *keyed);

/* keyed_deliver (in keyed_notes.c): a message WIRE_KEY.  Under the messenger's lock. */
void keyed_deliver(struct choir_comm *comm, const struct wire_header *header);

#endif
