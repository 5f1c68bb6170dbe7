/* SPDX-License-Identifier: MIT */
/* scan and exscan of short inputs: each rank sends its input to all ranks after it, and folds what it receives.
 *
 * One round of n - 1 messages; scratch for one input of each rank.  Any n > 1, inputs up to one message.  The folds are
 * left folds in rank order. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/fit.h"
#include "algo/pattern_block.h"
#include "algo/prefix.h"

enum { MOST_SCRATCH_BYTES = 16 << 20 };

const char *prefix_pairwise_unfit(const struct algo_in *in)
{
	const char *why = fit_network(in);

	if (why)
		return why;
	if (in->bytes > message_limit(in, block_unit(in->elem_bytes)))
		return "needs the input to fit a message";
	return in->bytes <= MOST_SCRATCH_BYTES / (uint64_t)in->layout->n ? NULL : "needs shorter inputs";
}

/* The own input: in SEND, or in scratch. */
static plan_id own_input(const struct algo_in *in, struct plan *plan, struct plan_ref own)
{
	if (in->send_direct)
		return PLAN_NO_STEP;
	return plan_copy(plan, own, plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "stage in");
}

choir_status prefix_pairwise(const struct algo_in *in, struct plan *plan)
{
	uint64_t stride = round_up(in->bytes, 64), scratch;
	struct plan_ref own, out;
	plan_id ready, from;

	if (in->bytes == 0)
		return plan_finish(plan);
	scratch = plan_scratch(plan, stride * ((uint64_t)in->me + 2));
	own = in->send_direct ? plan_at(PLAN_SEND, 0) : plan_at(PLAN_SCRATCH, scratch + (uint64_t)in->me * stride);
	out = plan_at(PLAN_SCRATCH, scratch + ((uint64_t)in->me + 1) * stride);
	if (in->recv_direct)
		out = plan_at(PLAN_RECV, 0);
	ready = own_input(in, plan, own);
	from = plan->n_steps;
	for (int rank = in->me + 1; rank < in->layout->n; rank++)
		plan_send(plan, rank, 0, own, in->bytes, &ready, 1, "input out");
	for (int rank = 0; rank < in->me; rank++)
		plan_recv(plan, rank, 0, plan_at(PLAN_SCRATCH, scratch + (uint64_t)rank * stride), in->bytes, NULL, 0,
		          "input in");
	if (prefix_end(in, in->me) == 0)
		return plan_finish(plan);
	plan_need(plan, ready);
	for (plan_id id = from; id < plan->n_steps; id++)
		plan_need(plan, id); /* sends too: in place RECV is what they read */
	for (int rank = 0; rank < prefix_end(in, in->me); rank++)
		plan_source(plan, rank == in->me ? own
		                                 : plan_at(PLAN_SCRATCH, scratch + (uint64_t)rank * stride));
	ready = plan_reduce(plan, out, NULL, 0, PLAN_RAW_ALL, false, in->bytes, NULL, 0, "fold");
	if (!in->recv_direct)
		plan_copy(plan, plan_at(PLAN_RECV, 0), out, in->bytes, &ready, 1, "stage out");
	return plan_finish(plan);
}
