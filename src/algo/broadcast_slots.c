/* SPDX-License-Identifier: MIT */
/* broadcast through the arena: the root copies chunk after chunk to its slot; the others copy them out and acknowledge.
 *
 * One wait for each chunk; the root writes the bytes once, each other rank reads them once.  One node, any length.  The
 * slot has four areas: the root writes chunk k when all ranks have copied chunk k - 4 (their phase k - 3), so it is at
 * most four chunks ahead. */
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/pattern_block.h"

#define AREAS             4
#define SHORT_CHUNK_BYTES (32 * 1024)

/* The longest chunk. */
static uint64_t chunk_limit(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes);

	return min_u64(round_down(in->slot_bytes / AREAS, unit), round_up(fit_moved_chunk_bytes(in, in->bytes), unit));
}

const char *broadcast_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (why)
		return why;
	return chunk_limit(in) ? fit_phases(in->bytes / chunk_limit(in) + 2) : "needs larger slots";
}

/* A short message has AREAS chunks too, so that ranks copy one while the root writes the next; but chunks are not so
 * short that their flags cost more. */
static struct chunks chunks_for(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes), part = round_up((in->bytes + AREAS - 1) / AREAS, unit),
		 least = round_up(SHORT_CHUNK_BYTES, unit);

	return chunks_of(in->bytes, min_u64(part > least ? part : least, chunk_limit(in)), unit);
}

struct give {
	plan_id published, awaited;
	plan_id own[AREAS]; /* the root's own copy out of an area, which must be done before the area is put again */
};

static void give(const struct algo_in *in, struct plan *plan, struct chunks chunks, uint64_t k, struct give *g)
{
	bool both_direct = in->send_direct && in->recv_direct;
	uint64_t off = chunk_off(chunks, k), len = chunk_len(chunks, k), area = k % AREAS;
	struct plan_ref slot = plan_slot(in->me, area * chunks.each), send = plan_at(PLAN_SEND, off);
	plan_id put, published = fit_by_commands(in) ? PLAN_NO_STEP : g->published;

	if (k >= AREAS)
		g->awaited = plan_await(plan, PLAN_ALL, (uint32_t)(k - AREAS) + 1, &g->awaited, 1, "area free");
	/* After the chunk before was published, for which the others wait; where a command puts, beside that. */
	put = plan_copy(plan, slot, send, len, (plan_id[]){ g->awaited, g->own[area], published }, 3, "put");
	g->published = plan_publish(plan, (uint32_t)k + 1, &put, 1, "chunk there");
	if (!in->in_place)
		g->own[area] =
		    plan_copy(plan, plan_at(PLAN_RECV, off), both_direct ? send : slot, len, &g->published, 1, "own");
}

static plan_id take(const struct algo_in *in, struct plan *plan, struct chunks chunks, uint64_t k, plan_id before)
{
	plan_id there = plan_await(plan, in->root, (uint32_t)k + 1, &before, 1, "chunk there");
	plan_id took = plan_copy(plan, plan_at(PLAN_RECV, chunk_off(chunks, k)),
	                         plan_slot(in->root, k % AREAS * chunks.each), chunk_len(chunks, k), &there, 1, "take");

	if (k + AREAS < chunks.n)
		plan_publish(plan, (uint32_t)k + 1, &took, 1, "taken");
	return there;
}

choir_status broadcast_slots(const struct algo_in *in, struct plan *plan)
{
	struct chunks chunks = chunks_for(in);
	struct give g = { .published = PLAN_NO_STEP, .awaited = PLAN_NO_STEP };
	plan_id there = PLAN_NO_STEP;

	plan->slot_bytes = in->slot_bytes;
	plan->nt = in->nt;
	plan->slot_used = chunks.n == 1 ? in->bytes : AREAS * chunks.each;
	for (int a = 0; a < AREAS; a++)
		g.own[a] = PLAN_NO_STEP;
	for (uint64_t k = 0; k < chunks.n; k++)
		if (in->me == in->root)
			give(in, plan, chunks, k, &g);
		else
			there = take(in, plan, chunks, k, there);
	return plan_finish(plan);
}
