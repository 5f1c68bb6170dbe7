/* SPDX-License-Identifier: MIT */
/* Message progress: messages that the transport brings, and its failures.  The driver only. */
#ifndef EXEC_MESSAGES_H
#define EXEC_MESSAGES_H

#include "exec/comm.h"

/* messages_drive: sends and receives what can be; true if anything moved.  always: even if no run in flight sends or
 * receives, and all that has come; else one message of a polled transport, for which most likely a run waits. */
bool messages_drive(struct choir_comm *comm, bool always);

/* messages_deliver: where a message for the comm (ctx) goes that has come; under the messenger's lock. */
void messages_deliver(void *ctx, struct message *message);

#endif
