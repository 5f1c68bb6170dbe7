/* SPDX-License-Identifier: MIT */
/* Relatives: a rank's comms that come from one comm by splits.  A program that sees one of them fail may destroy the
 * others, so each keeps that failure, and the rank's farewell (gone.h) tells it to those who wait for the rank.  A rank
 * that waits in one of them for long says so in the others, where its peers may wait for it. */
#ifndef EXEC_RELATIVES_H
#define EXEC_RELATIVES_H

#include "base/kept_error.h"
#include "exec/comm.h"

/* relatives_join: the comm becomes a relative of its parent, which the caller is inside of (comm_enter), and of the
 * parent's; NULL: it has none yet.  NO_MEMORY.  relatives_leave: a comm that has not joined is fine. */
choir_status relatives_join(struct choir_comm *comm, const struct choir_comm *parent);
void relatives_leave(struct choir_comm *comm);

/* relatives_tell: the comm fails so.  Any thread, with any lock held but this one's. */
void relatives_tell(const struct choir_comm *comm, choir_status status, const char *text);

/* relatives_failure: of the comm's relatives the first that failed since the last of its `calls` collective calls;
 * SUCCESS: none did. */
void relatives_failure(const struct choir_comm *comm, uint64_t calls, struct kept_error *out);

/* relatives_visit: fn, which must not wait, of each of the comm's relatives. */
void relatives_visit(const struct choir_comm *comm, void (*fn)(struct choir_comm *relative, void *ctx), void *ctx);

#endif
