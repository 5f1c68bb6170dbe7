/* SPDX-License-Identifier: MIT */
/* Note [credit].  A transport takes whatever it is given, and a stream of messages to a rank that is not there yet
 * would end up in memory: whole on this side or whole on that one.  So a sender is at most CREDIT_WINDOW messages ahead
 * of what its receiver has taken.  After every CREDIT_STEP messages the receiver returns an empty one, and the sender
 * goes on when that has come.  Short streams never wait. */
#ifndef ALGO_CREDIT_H
#define ALGO_CREDIT_H

#include "plan/plan.h"

#define CREDIT_WINDOW 16
#define CREDIT_STEP 8
#define CREDIT_TAG (1u << 23) /* data between the same two ranks, whichever way, has tags below */

/* credit_await: before message k of a stream to peer; returns what its send depends on.  credit: what this returned for
 * message k - 1, at first PLAN_NO_STEP. */
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
