/* SPDX-License-Identifier: MIT */
/* One-shot: everybody puts the whole input into its slot, waits for all, and reduces all n inputs in rank order for itself.
 *
 * One wait; each rank copies the input once and reads it n times.  All ranks on one node, input no longer than a slot.  The result is
 * computed by all ranks, from the same operands in the same order. */
#include "algo/build.h"
#include "algo/group.h"
#include "algo/fit.h"

const char *allreduce_oneshot_unfit(const struct algo_in *in)
{
	return in->bytes > in->slot_bytes ? "needs the input to fit a slot" : fit_node(in);
}

choir_status allreduce_oneshot(const struct algo_in *in, struct plan *plan)
{
	struct plan_ref send = plan_at(PLAN_SEND, 0), recv = plan_at(PLAN_RECV, 0), out = recv;
	const int *ranks = node_ranks_of(in);
	plan_id id;

	plan->slot_bytes = in->slot_bytes;
	plan->slot_used = in->bytes;
	if (in->bytes == 0)
		return plan_finish(plan);
	if (!in->recv_direct)
		out = plan_at(PLAN_SCRATCH, plan_scratch(plan, in->bytes));
	id = plan_copy(plan, plan_slot(in->me, 0), send, in->bytes, NULL, 0, "put");
	plan_publish(plan, 1, &id, 1, "input there");
	id = plan_await(plan, PLAN_ALL, 1, NULL, 0, "all there");
	for (int p = 0; p < in->layout->n; p++)
		plan_source(plan, ranks[p] == in->me && in->send_direct ? send : plan_slot(ranks[p], 0));
	id = plan_reduce(plan, out, NULL, 0, PLAN_RAW_ALL, true, in->bytes, &id, 1, "reduce all");
	if (!in->recv_direct)
		plan_copy(plan, recv, out, in->bytes, &id, 1, "stage out");
	return plan_finish(plan);
}
