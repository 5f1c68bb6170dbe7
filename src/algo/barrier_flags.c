/* SPDX-License-Identifier: MIT */
/* barrier through the arena: each rank raises its flag and waits for all.  One wait, no data.  One node. */
#include "algo/build.h"

choir_status barrier_flags(const struct algo_in *in, struct plan *plan)
{
	plan->slot_bytes = in->slot_bytes;
	plan_publish(plan, 1, NULL, 0, "here");
	plan_await(plan, PLAN_ALL, 1, NULL, 0, "all here");
	return plan_finish(plan);
}
