/* SPDX-License-Identifier: MIT */
#include "algo/device.h"

#include "algo/fit.h"
#include "algo/window.h"

const char *device_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (in->to_bytes)
		return "needs the blocks of all pairs";
	if (why || in->device_bytes)
		return why;
	return "needs devices that share a context, of class stage, and whose kernels have the host's bits for this "
	       "call";
}

/* Kernels read one cl_mem an operand, so a rank copies what it has in a list. */
static bool reads_send(const struct algo_in *in)
{
	return !in->scaled && !in->lists;
}

uint64_t device_parts(const struct algo_in *in)
{
	return (uint64_t)in->layout->n - reads_send(in);
}

/* Where a rank's bytes are in the scratch: the peers' first, then this rank's products. */
static struct plan_ref part_of(const struct algo_in *in, uint64_t scratch, int rank, uint64_t len)
{
	int part = rank == in->me ? in->layout->n - 1 : rank - (rank > in->me);

	return plan_at(PLAN_SCRATCH, scratch + (uint64_t)part * len);
}

/* Copies a rank's bytes to its part of the scratch; of premul_sum, their products with the rank's factor. */
static void fetch(const struct algo_in *in, struct plan *plan, int rank, struct plan_ref part, uint64_t off,
                  uint64_t len, plan_id after)
{
	bool mine = rank == in->me;
	struct plan_ref from = mine ? plan_at(PLAN_SEND, off) : plan_peer(PLAN_PEER_SEND, rank, off);

	if (!mine || in->lists) {
		after = plan_copy(plan, part, from, len, &after, 1, "fetch");
		from = part;
	}
	if (in->scaled)
		plan_scale_of(plan, rank, part, from, len, &after, 1);
}

plan_id device_reduce_part(const struct algo_in *in, struct plan *plan, int end, uint64_t scratch, uint64_t off,
                           uint64_t len, struct plan_ref to, plan_id after)
{
	int n = in->layout->n;
	plan_id first = plan->n_steps;
	enum plan_raw raw = in->scaled ? PLAN_RAW_NONE : PLAN_RAW_ALL;
	bool final = !collective_has(in->collective, TRAIT_PREFIX);

	for (int i = 1; i < n + !reads_send(in); i++) { /* the rank after me first, so that not all read the same one */
		int rank = (in->me + i) % n;

		if (rank < end)
			fetch(in, plan, rank, part_of(in, scratch, rank, len), off, len, after);
	}
	need_range(plan, first, plan->n_steps);
	for (int rank = 0; rank < end; rank++)
		plan_source(plan, rank == in->me && reads_send(in) ? plan_at(PLAN_SEND, off)
		                                                   : part_of(in, scratch, rank, len));
	return plan_reduce(plan, to, NULL, 0, raw, final, len, &after, 1, "reduce");
}

choir_status device_plan(choir_status st, struct plan *plan)
{
	plan->device = plan->peers;
	return st;
}

choir_status device_end(struct plan *plan, uint32_t phase)
{
	plan->peers = plan->device = true;
	need_range(plan, 0, plan->n_steps);
	plan_publish(plan, phase, NULL, 0, "left the peers");
	plan_await(plan, PLAN_ALL, phase, NULL, 0, "left by all");
	return plan_finish(plan);
}
