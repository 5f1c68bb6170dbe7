/* SPDX-License-Identifier: MIT */
/* gather(v) and scatter(v) in shared buffers: each block is copied once, from a SEND to a RECV.
 * Two waits.  One node, any lengths.  gather: each rank writes its block to the root's RECV; scatter: each rank reads
 * its block out of the root's SEND.  Of the v forms the root alone knows where the blocks lie in its buffer, so the
 * root makes all copies.  Note [direct] says how.
 *
 * In device memory (Note [device plans]) no rank writes another's, so the root of a gather makes all copies. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/device.h"
#include "algo/direct.h"
#include "algo/window.h"

/* The copy of the block that goes from one rank to the other; one of them is this rank. */
static void copy_block(const struct algo_in *in, struct plan *plan, int from, int to)
{
	uint64_t len = pair_bytes(in, from, to), sent = pair_send_off(in, from, to), got = pair_recv_off(in, from);
	bool own = from == to;

	if (len == 0 || (own && in->in_place))
		return;
	plan_copy(plan, to == in->me ? plan_at(PLAN_RECV, got) : plan_peer(PLAN_PEER_RECV, to, got),
	          from == in->me ? plan_at(PLAN_SEND, sent) : plan_peer(PLAN_PEER_SEND, from, sent), len, NULL, 0,
	          own ? "own" : "block");
}

static choir_status rooted(const struct algo_in *in, struct plan *plan, bool root_copies)
{
	bool gathers = collective_recvs_blocks(in->collective), is_root = in->me == in->root;
	int n = in->layout->n;

	if (rank_block_longest(in) == 0)
		return plan_finish(plan);
	if (!root_copies)
		copy_block(in, plan, gathers ? in->me : in->root, gathers ? in->root : in->me);
	for (int i = 0; i < n && root_copies && is_root; i++) {
		int rank = (in->root + i) % n;

		copy_block(in, plan, gathers ? rank : in->root, gathers ? in->root : rank);
	}
	return direct_end(in, plan, root_copies != is_root);
}

choir_status rooted_direct(const struct algo_in *in, struct plan *plan)
{
	return rooted(in, plan, collective_has(in->collective, TRAIT_UNEVEN));
}

choir_status rooted_device(const struct algo_in *in, struct plan *plan)
{
	return device_plan(rooted(in, plan, collective_recvs_blocks(in->collective)), plan);
}
