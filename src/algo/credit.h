/* SPDX-License-Identifier: MIT */
/* Note [credit].  A transport takes all messages it is given, so a stream of messages to a rank that is late would fill
 * the memory of one side.  A sender is therefore at most CREDIT_WINDOW messages ahead of its receiver.  After every
 * CREDIT_STEP messages the receiver returns an empty one, and the sender waits for it.  Short streams never wait. */
#ifndef ALGO_CREDIT_H
#define ALGO_CREDIT_H

#include "plan/plan.h"

#define CREDIT_WINDOW 16
#define CREDIT_STEP 8
#define CREDIT_TAG (1u << 23) /* data between the same two ranks, whichever way, has tags below */

/* credit_await: before message k of a stream to peer; returns the step that its send depends on.  credit: the returned
 * step for message k - 1, at first PLAN_NO_STEP. */
static inline plan_id credit_await(struct plan *plan, int peer, uint64_t k, plan_id credit)
{
	plan_limit(plan, "message", k, CREDIT_TAG - 1);
	if (k < CREDIT_WINDOW || k % CREDIT_STEP != 0)
		return credit;
	return plan_recv(plan, peer, CREDIT_TAG + (uint32_t)(k / CREDIT_STEP), plan_at(PLAN_SCRATCH, 0), 0, &credit, 1,
	                 "credit in");
}

/* credit_give: after message k of n from peer was taken (step got). */
static inline void credit_give(struct plan *plan, int peer, uint64_t k, uint64_t n, plan_id got)
{
	uint64_t allowed = k + 1 - CREDIT_STEP + CREDIT_WINDOW;

	if ((k + 1) % CREDIT_STEP == 0 && allowed < n)
		plan_send(plan, peer, CREDIT_TAG + (uint32_t)(allowed / CREDIT_STEP), plan_at(PLAN_SCRATCH, 0), 0, &got,
		          1, "credit out");
}

#endif
