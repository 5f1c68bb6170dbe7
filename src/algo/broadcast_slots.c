/* SPDX-License-Identifier: MIT */
/* broadcast through the arena: the root copies chunk after chunk to its slot; the others copy them out and acknowledge.
 *
 * One wait for each chunk; the root writes the bytes once, each other rank reads them once.  One node, any length.  The
 * slot has A areas, 4 to 16: the root writes chunk k when all ranks have copied chunk k - A (their phase k - A + 1), so
 * it is at most A chunks ahead. */
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/pattern_block.h"

#define LEAST_AREAS       4
#define MOST_AREAS        16
#define SHORT_CHUNK_BYTES (32 * 1024)
#define AREAS_BYTES       (1024 * 1024)

/* The longest chunk. */
static uint64_t chunk_limit(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes);

	return min_u64(round_down(in->slot_bytes / LEAST_AREAS, unit),
	               round_up(fit_moved_chunk_bytes(in, in->bytes), unit));
}

const char *broadcast_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (why)
		return why;
	return chunk_limit(in) ? fit_phases(in->bytes / chunk_limit(in) + 2) : "needs larger slots";
}

/* The chunks, chunk k in area k mod areas of the root's slot. */
struct cut {
	struct chunks chunks;
	uint64_t areas;
};

/* Note [broadcast areas].  A short message has LEAST_AREAS chunks too, so that ranks copy one while the root writes the
 * next; but chunks are not so short that their flags cost more, or the commands that copy them.  Areas of short chunks
 * come to AREAS_BYTES: when the root writes one again, it has left the private caches of its readers. */
static struct cut cut_for(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes), part = round_up((in->bytes + LEAST_AREAS - 1) / LEAST_AREAS, unit),
		 least = round_up(max_u64(SHORT_CHUNK_BYTES, in->command_bytes), unit);
	struct chunks chunks = chunks_of(in->bytes, min_u64(max_u64(part, least), chunk_limit(in)), unit);
	uint64_t fit = min_u64(in->slot_bytes, AREAS_BYTES) / chunks.each;
	uint64_t areas = min_u64(max_u64(fit, LEAST_AREAS), MOST_AREAS);

	return (struct cut){ .chunks = chunks, .areas = min_u64(areas, chunks.n) };
}

struct give {
	plan_id published, awaited;
	plan_id
	    own[MOST_AREAS]; /* the root's own copy out of an area, which must be done before the area is put again */
};

static void give(const struct algo_in *in, struct plan *plan, const struct cut *cut, uint64_t k, struct give *g)
{
	bool both_direct = in->send_direct && in->recv_direct;
	uint64_t off = chunk_off(cut->chunks, k), len = chunk_len(cut->chunks, k), area = k % cut->areas;
	struct plan_ref slot = plan_slot(in->me, area * cut->chunks.each), send = plan_at(PLAN_SEND, off);
	plan_id put, published = fit_by_commands(in) ? PLAN_NO_STEP : g->published;

	if (k >= cut->areas)
		g->awaited = plan_await(plan, PLAN_ALL, (uint32_t)(k - cut->areas) + 1, &g->awaited, 1, "area free");
	/* After the chunk before was published, for which the others wait; where a command puts, beside that. */
	put = plan_copy(plan, slot, send, len, (plan_id[]){ g->awaited, g->own[area], published }, 3, "put");
	g->published = plan_publish(plan, (uint32_t)k + 1, &put, 1, "chunk there");
	if (!in->in_place)
		g->own[area] =
		    plan_copy(plan, plan_at(PLAN_RECV, off), both_direct ? send : slot, len, &g->published, 1, "own");
}

static plan_id take(const struct algo_in *in, struct plan *plan, const struct cut *cut, uint64_t k, plan_id before)
{
	plan_id there = plan_await(plan, in->root, (uint32_t)k + 1, &before, 1, "chunk there");
	plan_id took = plan_copy(plan, plan_at(PLAN_RECV, chunk_off(cut->chunks, k)),
	                         plan_slot(in->root, k % cut->areas * cut->chunks.each), chunk_len(cut->chunks, k),
	                         &there, 1, "take");

	if (k + cut->areas < cut->chunks.n)
		plan_publish(plan, (uint32_t)k + 1, &took, 1, "taken");
	return there;
}

choir_status broadcast_slots(const struct algo_in *in, struct plan *plan)
{
	struct cut cut = cut_for(in);
	struct give g = { .published = PLAN_NO_STEP, .awaited = PLAN_NO_STEP };
	plan_id there = PLAN_NO_STEP;

	plan->slot_bytes = in->slot_bytes;
	plan->nt = in->nt;
	plan->slot_used = cut.chunks.n == 1 ? in->bytes : cut.areas * cut.chunks.each;
	for (int a = 0; a < MOST_AREAS; a++)
		g.own[a] = PLAN_NO_STEP;
	for (uint64_t k = 0; k < cut.chunks.n; k++)
		if (in->me == in->root)
			give(in, plan, &cut, k, &g);
		else
			there = take(in, plan, &cut, k, there);
	return plan_finish(plan);
}
