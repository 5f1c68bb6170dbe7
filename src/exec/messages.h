/* SPDX-License-Identifier: MIT */
/* Message progress: messages that the transport brings, and its failures.  The driver only. */
#ifndef EXEC_MESSAGES_H
#define EXEC_MESSAGES_H

#include "exec/run.h"

/* messages_drive: sends and receives what can be; true if anything moved.  always: looks even if no run in flight sends
 * or receives, and takes all that has come.  Else it looks if one does, and of a polled transport takes no more than
 * the first short message. */
bool messages_drive(struct choir_comm *comm, bool always);

/* messages_explain: the run failed since a send did not reach its rank.  If that has gone, it has said so before, in a
 * message that nobody may have looked at yet: then the run fails with what that says. */
void messages_explain(struct run *run);

/* messages_deliver: where a message for the comm (ctx) goes that has come; under the messenger's lock. */
void messages_deliver(void *ctx, struct message *message);

#endif
