/* SPDX-License-Identifier: MIT */
#include "algo/oneshot.h"

#include "algo/fit.h"
#include "algo/window.h"

const char *oneshot_unfit(const struct algo_in *in)
{
	return in->bytes > in->slot_bytes ? "needs the input to fit a slot" : fit_node(in);
}

/* alone: this rank is the root and publishes no phase; the REDUCE then depends on put, its copy to its slot, itself. */
static void reduce_all(const struct algo_in *in, struct plan *plan, bool alone, plan_id put)
{
	struct plan_ref recv = plan_at(PLAN_RECV, 0), out = recv;
	plan_id from = plan->n_steps, id;

	if (!in->recv_direct)
		out = plan_at(PLAN_SCRATCH, plan_scratch(plan, in->bytes));
	if (!alone)
		plan_await(plan, PLAN_ALL, 1, NULL, 0, "all there");
	for (int rank = 0; rank < in->layout->n && alone; rank++)
		if (rank != in->me)
			plan_await(plan, rank, 1, NULL, 0, "there");
	need_range(plan, from, plan->n_steps);
	for (int rank = 0; rank < in->layout->n; rank++)
		plan_source(plan, rank == in->me && in->send_direct ? plan_at(PLAN_SEND, 0) : plan_slot(rank, 0));
	id = plan_reduce(plan, out, NULL, 0, PLAN_RAW_ALL, true, in->bytes, &put, 1, "reduce all");
	if (!in->recv_direct)
		plan_copy(plan, recv, out, in->bytes, &id, 1, "stage out");
}

choir_status oneshot_build(const struct algo_in *in, struct plan *plan, int root)
{
	bool alone = root == in->me; /* no other rank reads this one's slot */
	plan_id id = PLAN_NO_STEP;

	plan->slot_bytes = in->slot_bytes;
	plan->slot_used = in->bytes;
	if (in->bytes == 0)
		return plan_finish(plan);
	if (!alone || !in->send_direct)
		id = plan_copy(plan, plan_slot(in->me, 0), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "put");
	if (!alone)
		plan_publish(plan, 1, &id, 1, "input there");
	if (root < 0 || alone)
		reduce_all(in, plan, alone, alone ? id : PLAN_NO_STEP);
	return plan_finish(plan);
}
