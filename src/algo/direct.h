/* SPDX-License-Identifier: MIT */
/* Note [direct].  Where the ranks of a node reach each other's buffers, no slot is used: a step moves bytes once, from
 * a SEND to a RECV.  The executor waits until all buffers are ready before the first step (PLAN_PEER_* in plan.h), so a
 * plan needs one wait, at its end: a rank publishes phase 1 when it no longer touches its peers' buffers, and is done
 * once all ranks that touch its own have published. */
#ifndef ALGO_DIRECT_H
#define ALGO_DIRECT_H

#include "algo/algo.h"

const char *direct_unfit(const struct algo_in *in);

/* direct_end: publishes phase 1 after all steps so far; waits for phase 1 of the ranks that touch my buffers; finishes
 * the plan. */
choir_status direct_end(const struct algo_in *in, struct plan *plan, bool touched);

/* direct_sources: the same bytes of every rank's SEND, in rank order, as the next step's sources. */
void direct_sources(const struct algo_in *in, struct plan *plan, uint64_t off);

#endif
