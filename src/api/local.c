/* SPDX-License-Identifier: MIT */
/* The operator "local" (GCL's LOCAL): the result is the rank's own share.  One copy; where neither buffer is reached by
 * the host, through scratch in chunks. */
#include "api/local.h"

#include "algo/blocks.h"

enum { CHUNK_BYTES = 256 * 1024 };

static void copy_through(struct plan *plan, uint64_t from, uint64_t bytes)
{
	uint64_t scratch = plan_scratch(plan, 2 * CHUNK_BYTES);
	plan_id before[2] = { PLAN_NO_STEP, PLAN_NO_STEP };

	for (uint64_t done = 0, k = 0; done < bytes; k++) {
		uint64_t len = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
		struct plan_ref half = plan_at(PLAN_SCRATCH, scratch + k % 2 * CHUNK_BYTES);
		plan_id in = plan_copy(plan, half, plan_at(PLAN_SEND, from + done), len, &before[k % 2], 1, "keep: in");

		before[k % 2] = plan_copy(plan, plan_at(PLAN_RECV, done), half, len, &in, 1, "keep: out");
		done += len;
	}
}

choir_status local_plan(const struct algo_in *in, struct cached_plan **out_p)
{
	bool scatters = collective_recv_is_inner(in->collective);
	uint64_t from = scatters ? rank_block_off(in, in->me) : 0,
		 bytes = scatters ? rank_block_bytes(in, in->me) : in->bytes;
	bool keeps =
	    (in->collective != COLLECTIVE_REDUCE || in->me == in->root) && !(in->in_place && in->in_place_off == from);
	struct plan plan;
	choir_status st;

	plan_init(&plan, "local", in->elem_bytes);
	plan.slot_bytes = in->slot_bytes;
	if (keeps && (in->send_direct || in->recv_direct))
		plan_copy(&plan, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, from), bytes, NULL, 0, "keep");
	else if (keeps)
		copy_through(&plan, from, bytes);
	st = plan_finish(&plan);
	if (st == CHOIR_SUCCESS)
		st = cached_plan_wrap(&plan, out_p);
	plan_fini(&plan);
	return st;
}
