/* SPDX-License-Identifier: MIT */
/* Messages of send and recv between ranks of a node: through rings in the arena instead of the transport.
 *
 * Each piece goes for itself: a receiver looks for it in both places, by its message's number among the pair's and its tag; a sender takes the ring if there is
 * room.  What stands in the ring may be taken in any order. */
#ifndef EXEC_MAIL_H
#define EXEC_MAIL_H

#include "exec/run.h"

/* mail_put: a piece of a send; false: it does not go this way. */
bool mail_put(struct run *run, const struct plan_step *step);

/* mail_take: a piece of a recv, if it is in the ring: *done.  MISMATCH. */
choir_status mail_take(struct run *run, const struct plan_step *step, bool *done);

#endif
