/* SPDX-License-Identifier: MIT */
/* allreduce in shared buffers: each rank reduces its slice out of all SENDs and writes it into all RECVs.
 *
 * Two waits whatever the length.  All ranks together read n vectors and write n, each byte once: the least that an
 * allreduce needs.  One node.  Each slice has one owner, which folds in rank order.  Note [direct] has the order. */
#include "algo/build.h"
#include "algo/direct.h"
#include "algo/pattern_block.h"

choir_status allreduce_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n;
	uint64_t unit = block_unit(in->elem_bytes), off = block_off(in->bytes, n, unit, in->me),
		 len = block_len(in->bytes, n, unit, in->me);

	if (in->bytes == 0)
		return plan_finish(plan);
	for (int rank = 0; rank < n && len > 0; rank++)
		if (rank != in->me)
			plan_target(plan, plan_peer(PLAN_PEER_RECV, rank, off));
	if (len > 0) {
		direct_sources(in, plan, off);
		plan_reduce(plan, plan_at(PLAN_RECV, off), NULL, 0, PLAN_RAW_ALL, true, len, NULL, 0,
		            "reduce slice for all");
	}
	return direct_end(in, plan, true);
}
