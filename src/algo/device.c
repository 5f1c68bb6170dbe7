/* SPDX-License-Identifier: MIT */
#include "algo/device.h"

#include "algo/fit.h"
#include "algo/window.h"

const char *device_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (in->to_bytes)
		return "needs the blocks of all pairs";
	return why ? why : in->device_bytes ? NULL : "needs devices that share a context, of class stage";
}

/* Where a peer's bytes are in the scratch. */
static struct plan_ref host_copy_of(const struct algo_in *in, uint64_t scratch, int rank, uint64_t len)
{
	return plan_at(PLAN_SCRATCH, scratch + (uint64_t)(rank - (rank > in->me)) * len);
}

plan_id device_reduce_part(const struct algo_in *in, struct plan *plan, uint64_t scratch, uint64_t off, uint64_t len,
                           struct plan_ref to, plan_id after)
{
	int n = in->layout->n;
	plan_id first = plan->n_steps;

	for (int i = 1; i < n; i++) { /* the rank after me first, so that not all read the same one at once */
		int rank = (in->me + i) % n;

		plan_copy(plan, host_copy_of(in, scratch, rank, len), plan_peer(PLAN_PEER_SEND, rank, off), len, &after,
		          1, "fetch");
	}
	need_range(plan, first, plan->n_steps);
	for (int rank = 0; rank < n; rank++)
		plan_source(plan, rank == in->me ? plan_at(PLAN_SEND, off) : host_copy_of(in, scratch, rank, len));
	return plan_reduce(plan, to, NULL, 0, PLAN_RAW_ALL, true, len, &after, 1, "reduce");
}

choir_status device_end(struct plan *plan, uint32_t phase)
{
	plan->peers = plan->device = true;
	need_range(plan, 0, plan->n_steps);
	plan_publish(plan, phase, NULL, 0, "left the peers");
	plan_await(plan, PLAN_ALL, phase, NULL, 0, "left by all");
	return plan_finish(plan);
}
