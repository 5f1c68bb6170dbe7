/* SPDX-License-Identifier: MIT */
/* alltoall and alltoallv in shared buffers: each rank copies its block out of every SEND, beginning with the rank after
 * it.  Two waits; each byte is read and written once.  One node, any lengths.  Note [direct] says how. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/direct.h"

choir_status alltoall_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n, me = in->me;

	if (!in->block_bytes && in->bytes == 0)
		return plan_finish(plan);
	for (int i = 0; i < n; i++) {
		int rank = (me + i) % n;
		uint64_t from = pair_send_off(in, rank, me), len = pair_bytes(in, rank, me);

		if (len)
			plan_copy(plan, plan_at(PLAN_RECV, pair_recv_off(in, rank)),
			          rank == me ? plan_at(PLAN_SEND, from) : plan_peer(PLAN_PEER_SEND, rank, from), len,
			          NULL, 0, "take");
	}
	return direct_end(in, plan, true);
}
