/* SPDX-License-Identifier: MIT */
/* reduce_scatter in shared buffers: each rank reduces its block out of all SENDs.  Two waits; each byte is read and written once.  One node.
 * The owner folds in rank order.  Note [direct] says how. */
#include "algo/build.h"
#include "algo/direct.h"

choir_status reduce_scatter_direct(const struct algo_in *in, struct plan *plan)
{
	if (in->bytes == 0)
		return plan_finish(plan);
	direct_sources(in, plan, (uint64_t)in->me * in->bytes);
	plan_reduce(plan, plan_at(PLAN_RECV, 0), NULL, 0, PLAN_RAW_ALL, true, in->bytes, NULL, 0, "reduce block");
	return direct_end(in, plan, true);
}
