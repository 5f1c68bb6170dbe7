/* SPDX-License-Identifier: MIT */
/* scan and exscan through the arena: each rank copies its input to its slot, waits for all, and folds the inputs of the
 * ranks up to it (exscan: before it) in rank order.
 *
 * One wait a chunk; rank r reads r + 1 inputs.  One node, any length.  The folds are left folds in rank order.  The
 * order of a chunk's steps is that of Note [streams]: put k overwrites chunk k - AREAS, and all ranks have folded chunk
 * k - 3 before phase k, which was awaited in period k - 1. */
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/pattern_block.h"
#include "algo/prefix.h"
#include "algo/window.h"

#define AREAS 6

struct prefix_slots {
	const struct algo_in *in;
	struct plan *plan;
	struct window window;
	struct chunks chunks;
	plan_id awaited, published; /* the latest */
	plan_id folded[2];
};

static uint64_t chunk_limit(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes);

	return min_u64(round_down(in->slot_bytes / AREAS, unit), round_up(fit_chunk_bytes(in, in->bytes, 1), unit));
}

const char *prefix_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (why)
		return why;
	return chunk_limit(in) ? fit_phases(in->bytes / chunk_limit(in) + 2) : "needs larger slots";
}

static struct plan_ref slot_of(const struct prefix_slots *s, int rank, uint64_t k)
{
	return plan_slot(rank, k % AREAS * s->chunks.each);
}

static void put(struct prefix_slots *s, uint64_t k)
{
	plan_id put = plan_copy(s->plan, slot_of(s, s->in->me, k), plan_at(PLAN_SEND, chunk_off(s->chunks, k)),
	                        chunk_len(s->chunks, k), &s->awaited, 1, "put");

	s->published = plan_publish(s->plan, (uint32_t)k + 1, (plan_id[]){ put, s->folded[k % 2] }, 2, "phase");
}

/* Chunk k, after the next one is published, for which the others wait. */
static void fold(struct prefix_slots *s, uint64_t k)
{
	uint64_t off = chunk_off(s->chunks, k), len = chunk_len(s->chunks, k);
	int end = prefix_end(s->in, s->in->me);
	struct piece piece;

	if (end == 0)
		return;
	plan_need(s->plan, s->awaited);
	plan_need(s->plan, s->published);
	piece = piece_for_recv(s->in, s->plan, &s->window, off);
	for (int rank = 0; rank < end; rank++)
		plan_source(s->plan,
		            rank == s->in->me && s->in->send_direct ? plan_at(PLAN_SEND, off) : slot_of(s, rank, k));
	piece.ready = plan_reduce(s->plan, piece.ref, NULL, 0, PLAN_RAW_ALL, false, len, NULL, 0, "fold");
	s->folded[k % 2] = piece.ready;
	piece_to_recv(&piece, s->plan, off, len);
	piece_end(&piece, s->plan, &s->window);
}

choir_status prefix_slots(const struct algo_in *in, struct plan *plan)
{
	uint64_t unit = block_unit(in->elem_bytes);
	struct prefix_slots s = { .in = in,
		                  .plan = plan,
		                  .chunks = chunks_of(in->bytes, chunk_limit(in), unit),
		                  .awaited = PLAN_NO_STEP,
		                  .published = PLAN_NO_STEP,
		                  .folded = { PLAN_NO_STEP, PLAN_NO_STEP } };

	plan->slot_bytes = in->slot_bytes;
	plan->nt = in->nt;
	plan->slot_used = s.chunks.n <= 1 ? in->bytes : min_u64(s.chunks.n, AREAS) * s.chunks.each;
	window_init(&s.window, plan, in->recv_direct || s.chunks.n == 0 ? 0 : s.chunks.each);
	for (uint64_t k = 0; s.chunks.n > 0 && k <= s.chunks.n; k++) {
		if (k < s.chunks.n)
			put(&s, k);
		if (k > 0)
			fold(&s, k - 1);
		if (k < s.chunks.n)
			s.awaited = plan_await(plan, PLAN_ALL, (uint32_t)k + 1, &s.awaited, 1, "all there");
	}
	return plan_finish(plan);
}
