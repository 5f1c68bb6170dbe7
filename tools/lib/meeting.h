/* SPDX-License-Identifier: MIT */
/* Where ranks that share memory wait for each other and exchange a few bytes, without MPI: MPICH's own barrier keeps
 * every core busy while it waits, and what is measured next would then pay for it. */
#ifndef LIB_MEETING_H
#define LIB_MEETING_H

#include <stdbool.h>
#include <stddef.h>

struct meeting;

/* meeting_bytes: of shared zeroed memory for n ranks.  meeting_init: by one rank, before any other looks at it. */
size_t meeting_bytes(int n);
void meeting_init(struct meeting *meeting, int n);

/* meeting_wait: until all ranks are here.  Spins for a moment if every rank has a core of its own, then sleeps. */
void meeting_wait(struct meeting *meeting);

/* meeting_gather: every rank's `bytes` bytes, in rank order, to `all` on every rank. */
void meeting_gather(struct meeting *meeting, int rank, const void *mine, size_t bytes, void *all);

/* meeting_crowded: whether there are more ranks than cores. */
bool meeting_crowded(const struct meeting *meeting);

#endif
