/* SPDX-License-Identifier: MIT */
/* Note [credit].  A rank that waits in the library takes all messages for its later calls, and a sender is stopped only
 * where the other process takes none (Note [room] in net/sends.h).  So many messages to a late rank would fill that
 * rank's memory.  Therefore a sender is at most 2 * step messages ahead of its receiver: after every `step` messages
 * the receiver returns an empty one, for which the sender waits.  Short sequences never wait. */
#ifndef ALGO_CREDIT_H
#define ALGO_CREDIT_H

#include "plan/plan.h"

#define CREDIT_STEP 8
#define CREDIT_TAG  (1u << 23) /* tags of data between the two ranks, in both directions, are below */

/* credit_await: called before message k to peer; returns the step that its send must depend on.  step: CREDIT_STEP, or
 * what both ranks know.  credit: the result for message k - 1, PLAN_NO_STEP for the first. */
static inline plan_id credit_await(struct plan *plan, int peer, uint64_t k, uint64_t step, plan_id credit)
{
	plan_limit(plan, "message", k, CREDIT_TAG - 1);
	if (k < 2 * step || k % step != 0)
		return credit;
	return plan_recv(plan, peer, CREDIT_TAG + (uint32_t)(k / step), plan_at(PLAN_SCRATCH, 0), 0, &credit, 1,
	                 "credit in");
}

/* credit_give: called after message k of n from peer was received, by step `got`. */
static inline void credit_give(struct plan *plan, int peer, uint64_t k, uint64_t step, uint64_t n, plan_id got)
{
	uint64_t allowed = k + 1 + step;

	if ((k + 1) % step == 0 && allowed < n)
		plan_send(plan, peer, CREDIT_TAG + (uint32_t)(allowed / step), plan_at(PLAN_SCRATCH, 0), 0, &got, 1,
		          "credit out");
}

#endif
