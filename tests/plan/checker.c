/* SPDX-License-Identifier: MIT */
#include "plan/checker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LAST_PHASE ((1u << 20) - 1)

/* One reference of a step: in bounds, on whole elements, and allowed there. */
static bool check_ref(struct world *world, int rank, uint32_t i, struct plan_ref ref, bool write)
{
	const struct plan *plan = &world->plans[rank];
	const struct plan_step *step = &plan->steps[i];
	uint64_t limit = 0;

	if (step->len == 0)
		return true;
	switch (ref.buf) {
	case PLAN_SEND:
		limit = world_send_bytes(world, rank);
		if (write)
			return world_fail(world, rank, i, "writes SEND");
		break;
	case PLAN_RECV:
		limit = world_recv_bytes(world, rank);
		break;
	case PLAN_SCRATCH:
		limit = plan->scratch_bytes;
		break;
	case PLAN_SLOT:
		limit = world->ins[rank].slot_bytes;
		if (plan->slot_bytes != limit)
			return world_fail(world, rank, i, "uses slots, but plan->slot_bytes is %" PRIu64, plan->slot_bytes);
		if (ref.peer < 0 || ref.peer >= world->n || world->layout.node_of[ref.peer] != world->layout.node_of[rank])
			return world_fail(world, rank, i, "slot of rank %d, which is not of its node", ref.peer);
		if (write && ref.peer != rank)
			return world_fail(world, rank, i, "writes the slot of rank %d", ref.peer);
		break;
	}
	if (step->len > limit || ref.off > limit - step->len)
		return world_fail(world, rank, i, "%" PRIu64 " + %" PRIu64 " is beyond %" PRIu64, ref.off, step->len, limit);
	if (ref.off % plan->elem_bytes || step->len % plan->elem_bytes)
		return world_fail(world, rank, i, "cuts an element");
	return true;
}

static bool is_user(const struct world *world, int rank, struct plan_ref ref)
{
	return (ref.buf == PLAN_SEND && !world->ins[rank].send_direct) || (ref.buf == PLAN_RECV && !world->ins[rank].recv_direct);
}

/* A buffer that is not direct is only copied, from or to the library's memory. */
static bool check_staging(struct world *world, int rank, uint32_t i)
{
	const struct plan *plan = &world->plans[rank];
	const struct plan_step *step = &plan->steps[i];
	bool has_dst = step->kind == PLAN_COPY || step->kind == PLAN_REDUCE || step->kind == PLAN_RECV_MSG;
	int user = has_dst && is_user(world, rank, step->dst);

	for (uint32_t k = 0; k < step->n_src; k++)
		user += is_user(world, rank, plan->refs[step->src_first + k]);
	if (!user || step->len == 0)
		return true;
	if (step->kind != PLAN_COPY || step->dst.buf == PLAN_SEND || (step->dst.buf == PLAN_RECV && plan->refs[step->src_first].buf <= PLAN_RECV))
		return world_fail(world, rank, i, "touches a buffer that is not direct");
	return true;
}

/* A destination overlaps no source, but for a REDUCE exactly one may be it. */
static bool check_alias(struct world *world, int rank, uint32_t i)
{
	const struct plan *plan = &world->plans[rank];
	const struct plan_step *step = &plan->steps[i];
	struct access dst = access_of(world, rank, step->dst, step->len, 0, true);
	int same = 0;

	for (uint32_t k = 0; k < step->n_src; k++) {
		struct access src = access_of(world, rank, plan->refs[step->src_first + k], step->len, 0, false);

		if (src.space != dst.space || step->len == 0)
			continue;
		if (src.off == dst.off)
			same++;
		else if (src.off < dst.off + dst.len && dst.off < src.off + src.len)
			return world_fail(world, rank, i, "destination and source overlap");
	}
	if (same > (step->kind == PLAN_REDUCE))
		return world_fail(world, rank, i, "destination is a source");
	return true;
}

static bool check_shape(struct world *world, int rank, uint32_t i)
{
	const struct plan *plan = &world->plans[rank];
	const struct plan_step *step = &plan->steps[i];
	uint32_t n_src_wanted = step->kind == PLAN_COPY || step->kind == PLAN_SEND_MSG;

	if (!step->label || !*step->label)
		return world_fail(world, rank, i, "has no label");
	if (step->kind == PLAN_REDUCE ? step->n_src < 1 : step->n_src != n_src_wanted)
		return world_fail(world, rank, i, "has %u sources", step->n_src);
	for (uint32_t d = 0; d < step->n_deps; d++)
		if (plan->deps[step->dep_first + d] >= i)
			return world_fail(world, rank, i, "depends on step %u, which is not before it", plan->deps[step->dep_first + d]);
	if (step->kind == PLAN_SEND_MSG || step->kind == PLAN_RECV_MSG) {
		if (step->peer < 0 || step->peer >= world->n)
			return world_fail(world, rank, i, "peer %d", step->peer);
		if (step->len > world->ins[rank].message_bytes)
			return world_fail(world, rank, i, "a message of %" PRIu64 " bytes", step->len);
	}
	if (step->kind == PLAN_AWAIT && step->peer != PLAN_ALL &&
	    (step->peer < 0 || step->peer >= world->n || world->layout.node_of[step->peer] != world->layout.node_of[rank]))
		return world_fail(world, rank, i, "awaits rank %d, which is not of its node", step->peer);
	if ((step->kind == PLAN_AWAIT || step->kind == PLAN_PUBLISH) && (step->tag < 1 || step->tag > LAST_PHASE))
		return world_fail(world, rank, i, "phase %u", step->tag);
	return true;
}

/* Flags rise, each PUBLISH after the one before, and last_phase is the last. */
static bool check_phases(struct world *world, int rank)
{
	const struct plan *plan = &world->plans[rank];
	uint32_t last = 0;
	long before = -1;

	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];
		bool chained = before < 0;

		if (step->kind != PLAN_PUBLISH)
			continue;
		for (uint32_t d = 0; d < step->n_deps; d++)
			chained |= plan->deps[step->dep_first + d] == (uint32_t)before;
		if (step->tag <= last || !chained)
			return world_fail(world, rank, i, "phase %u after %u", step->tag, last);
		last = step->tag;
		before = i;
	}
	return plan->last_phase == last || world_fail(world, rank, -1, "last_phase is %u, not %u", plan->last_phase, last);
}

/* The successor lists are the deps turned round. */
static bool check_successors(struct world *world, int rank)
{
	const struct plan *plan = &world->plans[rank];
	uint64_t edges = 0;

	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		edges += step->n_deps;
		for (uint32_t d = 0; d < step->n_deps; d++) {
			uint32_t dep = plan->deps[step->dep_first + d], s = plan->succ_first[dep];

			while (s < plan->succ_first[dep + 1] && plan->succs[s] != i)
				s++;
			if (s == plan->succ_first[dep + 1])
				return world_fail(world, rank, i, "is missing from the successors of %u", dep);
		}
	}
	return edges == plan->succ_first[plan->n_steps] || world_fail(world, rank, -1, "successor lists of the wrong length");
}

static bool check_steps(struct world *world)
{
	for (int r = 0; r < world->n; r++) {
		const struct plan *plan = &world->plans[r];

		for (uint32_t i = 0; i < plan->n_steps; i++) {
			const struct plan_step *step = &plan->steps[i];
			bool writes = step->kind == PLAN_COPY || step->kind == PLAN_REDUCE || step->kind == PLAN_RECV_MSG;

			if (!check_shape(world, r, i) || !check_staging(world, r, i))
				return false;
			if (writes && (!check_ref(world, r, i, step->dst, true) || !check_alias(world, r, i)))
				return false;
			for (uint32_t k = 0; k < step->n_src; k++)
				if (!check_ref(world, r, i, plan->refs[step->src_first + k], false))
					return false;
		}
		if (!check_phases(world, r) || !check_successors(world, r))
			return false;
	}
	return true;
}

/* Which steps happen before which: a triangle of bits, both sides by place in the order.  The memory is kept for the next call: taking it
 * afresh for each of many thousand cases was a third of the test's time. */
static uint64_t *triangle;
static size_t triangle_words;

static uint64_t *row_of(uint32_t at)
{
	uint64_t full = at / 64; /* rows 64 full .. have full + 1 words */

	return triangle + full * (full + 1) / 2 * 64 + at % 64 * (full + 1);
}

static bool is_before(uint32_t first, uint32_t second)
{
	return row_of(second)[first / 64] >> (first % 64) & 1;
}

static void order_all(const struct graph *graph)
{
	size_t words = (size_t)(row_of(graph->n) - triangle) + graph->n / 64 + 1;

	if (words > triangle_words) {
		free(triangle);
		triangle = malloc(words * sizeof *triangle);
		triangle_words = words;
	}
	for (uint32_t at = 0; at < graph->n; at++) {
		uint32_t id = graph->order[at];
		uint64_t *row = row_of(at);

		memset(row, 0, (at / 64 + 1) * sizeof *row);
		/* The latest first: what is before it is then in already. */
		for (uint32_t p = graph->pred_first[id + 1]; p-- > graph->pred_first[id];) {
			uint32_t from = graph->place[graph->preds[p]];
			const uint64_t *other = row_of(from);

			if (is_before(from, at))
				continue;
			for (uint32_t w = 0; w <= from / 64; w++)
				row[w] |= other[w];
			row[from / 64] |= 1ull << (from % 64);
		}
	}
}

static int by_place(const void *a_, const void *b_)
{
	const struct access *a = a_, *b = b_;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static size_t list_accesses(const struct world *world, const struct graph *graph, struct access *out)
{
	size_t n = 0;

	for (uint32_t id = 0; id < graph->n; id++) {
		int rank = graph->rank_of[id];
		const struct plan_step *step = graph_step(world, graph, id);

		if (step->len == 0)
			continue;
		if (step->kind == PLAN_COPY || step->kind == PLAN_REDUCE || step->kind == PLAN_RECV_MSG)
			out[n++] = access_of(world, rank, step->dst, step->len, id, true);
		for (uint32_t k = 0; k < step->n_src; k++)
			out[n++] = access_of(world, rank, world->plans[rank].refs[step->src_first + k], step->len, id, false);
	}
	qsort(out, n, sizeof *out, by_place);
	return n;
}

static bool check_races(struct world *world, const struct graph *graph)
{
	size_t n = 0, cap = graph->n;
	struct access *list;
	bool ok = true;

	for (int r = 0; r < world->n; r++)
		cap += world->plans[r].n_refs;
	order_all(graph);
	list = calloc(cap + 1, sizeof *list);
	n = list_accesses(world, graph, list);
	for (size_t i = 0; ok && i < n; i++)
		for (size_t k = i + 1; ok && k < n && list[k].space == list[i].space && list[k].off < list[i].off + list[i].len; k++) {
			uint32_t a = graph->place[list[i].id], b = graph->place[list[k].id];
			uint32_t first = a < b ? a : b, second = a < b ? b : a;
			int rank = graph->rank_of[graph->order[second]], other = graph->rank_of[graph->order[first]];

			if ((!list[i].write && !list[k].write) || a == b || is_before(first, second))
				continue;
			ok = world_fail(world, rank, (long)(graph->order[second] - graph->base[rank]),
			                "not ordered with step %u of rank %d (%s), which touches the same bytes",
			                graph->order[first] - graph->base[other], other,
			                graph_step(world, graph, graph->order[first])->label);
		}
	free(list);
	return ok;
}

bool checker_verify(struct world *world)
{
	struct graph graph = { 0 };
	bool ok = check_steps(world) && graph_build(world, &graph) && check_races(world, &graph);

	graph_free(&graph);
	return ok;
}
