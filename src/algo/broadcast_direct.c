/* SPDX-License-Identifier: MIT */
/* broadcast in shared buffers: each rank copies the root's SEND.  The root waits twice, the others once; each byte is
 * read and written once a rank.  One node.
 * Note [direct] says how. */
#include "algo/build.h"
#include "algo/direct.h"

choir_status broadcast_direct(const struct algo_in *in, struct plan *plan)
{
	bool root = in->me == in->root;

	if (in->bytes == 0)
		return plan_finish(plan);
	if (!root)
		plan_copy(plan, plan_at(PLAN_RECV, 0), plan_peer(PLAN_PEER_SEND, in->root, 0), in->bytes, NULL, 0,
		          "take");
	else if (!in->in_place)
		plan_copy(plan, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	return direct_end(in, plan, root);
}
