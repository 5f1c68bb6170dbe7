/* SPDX-License-Identifier: MIT */
/* alltoall in shared buffers: each rank copies its block out of every SEND, beginning with the rank after it.  Two waits; each byte is read and written once.
 * One node.  Note [direct] says how. */
#include "algo/build.h"
#include "algo/direct.h"

choir_status alltoall_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n, me = in->me;

	if (in->bytes == 0)
		return plan_finish(plan);
	for (int i = 0; i < n; i++) {
		int rank = (me + i) % n;
		uint64_t from = (uint64_t)me * in->bytes;

		plan_copy(plan, plan_at(PLAN_RECV, (uint64_t)rank * in->bytes),
		          rank == me ? plan_at(PLAN_SEND, from) : plan_peer(PLAN_PEER_SEND, rank, from), in->bytes, NULL, 0, "take");
	}
	return direct_end(in, plan, true);
}
