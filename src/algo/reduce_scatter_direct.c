/* SPDX-License-Identifier: MIT */
/* reduce_scatter and reduce_scatterv in shared buffers: each rank reduces its block out of all SENDs.  Two waits; each
 * byte is read and written once.  One node, any lengths.  The owner folds in rank order.  Note [direct] says how. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/direct.h"

choir_status reduce_scatter_direct(const struct algo_in *in, struct plan *plan)
{
	uint64_t len = rank_block_bytes(in, in->me);

	if (rank_block_longest(in) == 0)
		return plan_finish(plan);
	if (len) {
		direct_sources(in, plan, rank_block_off(in, in->me));
		plan_reduce(plan, plan_at(PLAN_RECV, 0), NULL, 0, PLAN_RAW_ALL, true, len, NULL, 0, "reduce block");
	}
	return direct_end(in, plan, true);
}
