/* SPDX-License-Identifier: MIT */
/* Note [direct].  Where the ranks of a node reach each other's buffers, nothing is put into slots: data moves once,
 * from the buffers it is in to the buffers it belongs in.  The executor has made sure that all buffers are ready before
 * the first step (PLAN_PEER_* in plan.h), so a plan needs one wait, at its end: a rank publishes phase 1 when it no
 * longer touches its peers' buffers, and is done once all that touch its own have. */
#ifndef ALGO_DIRECT_H
#define ALGO_DIRECT_H

#include "algo/algo.h"

const char *direct_unfit(const struct algo_in *in);

/* direct_end: publishes phase 1 after all steps so far; waits for everybody's if they touch my buffers; finishes the
 * plan. */
choir_status direct_end(const struct algo_in *in, struct plan *plan, bool touched);

/* direct_sources: the same bytes of every rank's SEND, in rank order, as the next step's sources. */
void direct_sources(const struct algo_in *in, struct plan *plan, uint64_t off);

#endif
