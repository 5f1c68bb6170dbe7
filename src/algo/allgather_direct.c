/* SPDX-License-Identifier: MIT */
/* allgather in shared buffers: each rank copies the others' SENDs into its RECV, beginning with the rank after it, so that not all read the same one at once.
 * Two waits; each byte is read and written once a rank.  One node.  Note [direct] says how. */
#include "algo/build.h"
#include "algo/direct.h"

choir_status allgather_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n, me = in->me;

	if (in->bytes == 0)
		return plan_finish(plan);
	for (int i = 1; i < n; i++) {
		int rank = (me + i) % n;

		plan_copy(plan, plan_at(PLAN_RECV, (uint64_t)rank * in->bytes), plan_peer(PLAN_PEER_SEND, rank, 0), in->bytes, NULL, 0, "take");
	}
	if (!in->in_place)
		plan_copy(plan, plan_at(PLAN_RECV, (uint64_t)me * in->bytes), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	return direct_end(in, plan, true);
}
