/* SPDX-License-Identifier: MIT */
#include "algo/direct.h"

#include "algo/fit.h"
#include "algo/window.h"

const char *direct_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (in->to_bytes)
		return "needs the blocks of all pairs";
	return why ? why : in->shared ? NULL : "needs memory that the ranks share";
}

void direct_sources(const struct algo_in *in, struct plan *plan, uint64_t off)
{
	for (int rank = 0; rank < in->layout->n; rank++)
		plan_source(plan, rank == in->me ? plan_at(PLAN_SEND, off) : plan_peer(PLAN_PEER_SEND, rank, off));
}

choir_status direct_end(const struct algo_in *in, struct plan *plan, bool touched)
{
	plan->peers = true; /* also if this rank accesses no peer: the others wait for its buffers */
	plan->nt = in->nt;
	need_range(plan, 0, plan->n_steps);
	plan_publish(plan, 1, NULL, 0, "left the peers");
	if (touched)
		plan_await(plan, PLAN_ALL, 1, NULL, 0, "left by all");
	return plan_finish(plan);
}
