/* SPDX-License-Identifier: MIT */
/* gather(v) and scatter(v) through the arena, where the blocks fit in one chunk: a rank that gives raises its flag and
 * waits for none, a rank that takes waits for those alone that give to it.
 *
 * One wait of the root (gather), or of each other rank (scatter); each block is written once and read once.  One node.
 * Longer blocks go as streams: alltoall_slots.c. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/window.h"

#define OWN_PIECE (256 * 1024)
#define AREAS 6 /* as streams have: what is longer than an area has several chunks */

static bool gathers(const struct algo_in *in)
{
	return collective_recvs_blocks(in->collective);
}

/* The bytes between a rank and the root; the root's own block is in no slot. */
static uint64_t block_of(const struct algo_in *in, int rank)
{
	if (rank == in->root)
		return 0;
	return gathers(in) ? pair_bytes(in, rank, in->root) : pair_bytes(in, in->root, rank);
}

/* Where a rank's block is in its sender's slot. */
static uint64_t slot_off(const struct algo_in *in, int rank)
{
	uint64_t off = 0;

	for (int r = 0; r < rank && !gathers(in); r++)
		off += block_of(in, r);
	return off;
}

/* Of the slot that has most. */
static uint64_t used(const struct algo_in *in)
{
	uint64_t sum = 0, longest = 0;

	for (int r = 0; r < in->layout->n; r++) {
		sum += block_of(in, r);
		longest = block_of(in, r) > longest ? block_of(in, r) : longest;
	}
	return gathers(in) ? longest : sum;
}

/* By what all ranks know alike. */
static bool is_one_chunk(const struct algo_in *in, uint64_t bytes)
{
	return bytes > 0 && bytes <= in->slot_bytes / AREAS && bytes <= fit_chunk_bytes(in, bytes, 1);
}

static void own(const struct algo_in *in, struct plan *plan, plan_id after)
{
	uint64_t from = pair_send_off(in, in->me, in->me), to = pair_recv_off(in, in->me),
		 bytes = pair_bytes(in, in->me, in->me);
	struct window window;

	if (in->me != in->root || in->in_place || bytes == 0)
		return;
	if (in->send_direct && in->recv_direct) {
		plan_copy(plan, plan_at(PLAN_RECV, to), plan_at(PLAN_SEND, from), bytes, &after, 1, "own");
		return;
	}
	window_init(&window, plan, bytes < OWN_PIECE ? bytes : OWN_PIECE);
	copy_own(in, plan, &window, to, from, bytes);
}

/* Blocks that stand together in SEND do so in the slot: one copy. */
static void put(const struct algo_in *in, struct plan *plan)
{
	uint64_t from = 0, len = 0, to = 0;

	for (int r = 0; r < in->layout->n; r++) {
		uint64_t bytes = block_of(in, r), at = pair_send_off(in, in->me, r);

		if (bytes == 0)
			continue;
		if (len > 0 && from + len != at) {
			plan_copy(plan, plan_slot(in->me, to), plan_at(PLAN_SEND, from), len, NULL, 0, "put");
			to += len;
			len = 0;
		}
		from = len == 0 ? at : from;
		len += bytes;
	}
	plan_copy(plan, plan_slot(in->me, to), plan_at(PLAN_SEND, from), len, NULL, 0, "put");
}

static plan_id publish(struct plan *plan)
{
	need_range(plan, 0, plan->n_steps);
	return plan_publish(plan, 1, NULL, 0, "block there");
}

static void take(const struct algo_in *in, struct plan *plan, int from, int rank, plan_id there)
{
	plan_copy(plan, plan_at(PLAN_RECV, pair_recv_off(in, from)), plan_slot(from, slot_off(in, rank)),
	          block_of(in, rank), &there, 1, "take");
}

static void gather(const struct algo_in *in, struct plan *plan)
{
	plan_id there;

	if (in->me != in->root) {
		plan_copy(plan, plan_slot(in->me, 0), plan_at(PLAN_SEND, 0), block_of(in, in->me), NULL, 0, "put");
		publish(plan);
		return;
	}
	there = PLAN_NO_STEP;
	for (int r = 0; r < in->layout->n; r++)
		if (r != in->root)
			there = plan_await(plan, r, 1, &there, 1, "block there");
	for (int r = 0; r < in->layout->n; r++)
		if (block_of(in, r) > 0)
			take(in, plan, r, r, there);
	own(in, plan, there);
}

static void scatter(const struct algo_in *in, struct plan *plan)
{
	if (in->me == in->root) {
		put(in, plan);
		own(in, plan, publish(plan));
		return;
	}
	take(in, plan, in->root, in->me, plan_await(plan, in->root, 1, NULL, 0, "block there"));
}

choir_status rooted_slots(const struct algo_in *in, struct plan *plan)
{
	uint64_t bytes = used(in);

	if (!is_one_chunk(in, bytes))
		return alltoall_slots(in, plan);
	plan->slot_bytes = in->slot_bytes;
	plan->nt = in->nt;
	plan->slot_used = bytes;
	if (gathers(in))
		gather(in, plan);
	else
		scatter(in, plan);
	return plan_finish(plan);
}
