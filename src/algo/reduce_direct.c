/* SPDX-License-Identifier: MIT */
/* reduce in shared buffers: each rank reduces its slice out of all SENDs into the root's RECV.  Two waits; each byte is
 * read and written once.  One node.  Each slice has one owner, which folds in rank order.  Note [direct] says how. */
#include "algo/build.h"
#include "algo/direct.h"
#include "algo/pattern_block.h"

choir_status reduce_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n;
	uint64_t unit = block_unit(in->elem_bytes), off = block_off(in->bytes, n, unit, in->me),
		 len = block_len(in->bytes, n, unit, in->me);
	struct plan_ref out = in->me == in->root ? plan_at(PLAN_RECV, off) : plan_peer(PLAN_PEER_RECV, in->root, off);

	if (in->bytes == 0)
		return plan_finish(plan);
	if (len > 0) {
		direct_sources(in, plan, off);
		plan_reduce(plan, out, NULL, 0, PLAN_RAW_ALL, true, len, NULL, 0, "reduce slice for the root");
	}
	return direct_end(in, plan, true);
}
