/* SPDX-License-Identifier: MIT */
/* Note [direct].  Where the ranks of a node can access each other's buffers no slot is used: a step moves bytes once,
 * from a SEND to a RECV.  exec waits until all buffers are ready before the first step (PLAN_PEER_* in plan.h), so a
 * plan needs one wait, at its end: a rank publishes phase 1 when it does not access its peers' buffers any more, and is
 * done when all ranks that access its own have published. */
#ifndef ALGO_DIRECT_H
#define ALGO_DIRECT_H

#include "algo/algo.h"

const char *direct_unfit(const struct algo_in *in);

/* direct_end: publishes phase 1 after all steps so far, awaits phase 1 of all ranks if they access this rank's buffers
 * (touched), and finishes the plan. */
choir_status direct_end(const struct algo_in *in, struct plan *plan, bool touched);

/* direct_sources: makes the bytes at off of every rank's SEND, in rank order, the sources of the next step. */
void direct_sources(const struct algo_in *in, struct plan *plan, uint64_t off);

#endif
