/* SPDX-License-Identifier: MIT */
/* Short messages of send and recv between ranks of a node: through boxes in the arena instead of the transport.
 *
 * Each side may choose for itself.  The messages of a pair are numbered, so a receiver looks for its number in both places; a sender takes the box if the
 * receiver has taken out what was put there last. */
#ifndef EXEC_MAIL_H
#define EXEC_MAIL_H

#include "exec/run.h"

/* mail_put: the whole message of a send; false: it does not go this way. */
bool mail_put(struct run *run, const struct plan_step *step);

/* mail_take: the message of a recv, if it is in its box: *done.  MISMATCH. */
choir_status mail_take(struct run *run, const struct plan_step *step, bool *done);

#endif
