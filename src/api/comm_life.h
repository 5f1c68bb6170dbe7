/* SPDX-License-Identifier: MIT */
/* A comm's life between its shell's making and its shell's end. */
#ifndef API_COMM_LIFE_H
#define API_COMM_LIFE_H

#include "api/bootstrap.h"

/* comm_fill: the zeroed comm of a local rank, from what the processes gathered.  After a failure: comm_discard. */
choir_status comm_fill(struct bootstrap *bootstrap, int local, struct choir_comm *comm);

/* comm_make_family: of n comms that this process has made together. */
choir_status comm_make_family(int n, choir_comm **comms);

enum { NEWS_MS = 1000 }; /* for the news that a rank has failed, or goes */

/* comm_discard: ends a comm without calls under way: gives back what others may not outlive (transport, arena, bells),
 * once no thread uses it.  Only the shell remains, for events to point to, and its device.  NULL is silent. */
void comm_discard(struct choir_comm *comm);

/* comm_discard_told: of n comms those that are not NULL, which other ranks may keep.  They fail there with the error
 * that this thread has, and that status; it stays the thread's. */
void comm_discard_told(choir_status status, size_t n, struct choir_comm *const *comms);

#endif
