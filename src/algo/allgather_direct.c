/* SPDX-License-Identifier: MIT */
/* allgather and allgatherv in shared buffers: each rank copies the others' SENDs into its RECV, beginning with the rank
 * after it, so that not all read the same one at once.  Two waits; each byte is read and written once a rank.  One
 * node, any lengths.  Note [direct] says how. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/direct.h"

choir_status allgather_direct(const struct algo_in *in, struct plan *plan)
{
	int n = in->layout->n, me = in->me;

	if (rank_block_longest(in) == 0)
		return plan_finish(plan);
	for (int i = 1; i < n; i++) {
		int rank = (me + i) % n;

		if (rank_block_bytes(in, rank))
			plan_copy(plan, plan_at(PLAN_RECV, rank_block_off(in, rank)),
			          plan_peer(PLAN_PEER_SEND, rank, 0), rank_block_bytes(in, rank), NULL, 0, "take");
	}
	if (!in->in_place && rank_block_bytes(in, me))
		plan_copy(plan, plan_at(PLAN_RECV, rank_block_off(in, me)), plan_at(PLAN_SEND, 0),
		          rank_block_bytes(in, me), NULL, 0, "own");
	return direct_end(in, plan, true);
}
