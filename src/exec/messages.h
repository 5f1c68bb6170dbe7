/* SPDX-License-Identifier: MIT */
/* Message progress: what the transport and the inbox have to say.  The driver only. */
#ifndef EXEC_MESSAGES_H
#define EXEC_MESSAGES_H

#include "exec/comm.h"

/* messages_drive: sends and receives what can be; true if anything moved.  even_if_idle: even if no run here waits for
 * messages. */
bool messages_drive(struct choir_comm *comm, bool even_if_idle);

/* messages_deliver: where a message for the comm (ctx) goes that has come; under the messenger's lock. */
void messages_deliver(void *ctx, struct message *message);

#endif
