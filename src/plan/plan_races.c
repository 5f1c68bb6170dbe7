/* SPDX-License-Identifier: MIT */
/* The relation "happens before" as a triangle of bits, indexed by the positions of both steps in the topological order.
 * Rows 64 f .. 64 f + 63 have f + 1 words. */
#include "plan/plan_races.h"

#include "base/error.h"
#include "plan/plan_check.h"

#include <stdlib.h>
#include <string.h>

struct races {
	const struct plan_team *team;
	const struct plan_graph *graph;
	uint64_t *triangle;
	struct plan_access *list; /* by space and offset */
	size_t n;
};

static size_t row_at(uint32_t at)
{
	size_t full = at / 64;

	return full * (full + 1) / 2 * 64 + at % 64 * (full + 1);
}

static bool is_before(const struct races *r, uint32_t first, uint32_t second)
{
	return r->triangle[row_at(second) + first / 64] >> (first % 64) & 1;
}

static void or_row(uint64_t *row, const struct races *r, uint32_t from)
{
	const uint64_t *other = r->triangle + row_at(from);

	for (uint32_t w = 0; w <= from / 64; w++)
		row[w] |= other[w];
	row[from / 64] |= 1ull << (from % 64);
}

static choir_status order_all(struct races *r)
{
	const struct plan_graph *graph = r->graph;
	size_t words = row_at(graph->n) + graph->n / 64 + 1;

	r->triangle = malloc(words * sizeof *r->triangle);
	if (!r->triangle)
		return error_no_memory("the order of a plan's steps", words * sizeof *r->triangle);
	for (uint32_t at = 0; at < graph->n; at++) {
		uint32_t id = graph->order[at];
		uint64_t *row = r->triangle + row_at(at);

		memset(row, 0, (at / 64 + 1) * sizeof *row);
		/* The latest first: its row already contains the steps before it. */
		for (uint32_t p = graph->pred_first[id + 1]; p-- > graph->pred_first[id];)
			if (!is_before(r, graph->position[graph->preds[p]], at))
				or_row(row, r, graph->position[graph->preds[p]]);
	}
	return CHOIR_SUCCESS;
}

static int by_position(const void *a_, const void *b_)
{
	const struct plan_access *a = a_, *b = b_;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static void list_step(struct races *r, uint32_t id)
{
	int rank = r->graph->rank_of[id];
	const struct plan *plan = r->team->ranks[rank].plan;
	const struct plan_step *step = plan_graph_step(r->team, r->graph, id);
	uint32_t targets = plan_step_targets(step);

	for (uint32_t k = 0; step->len && k < targets + step->n_src; k++) {
		struct plan_ref ref =
		    k < targets ? plan_step_target(plan, step, k) : plan->refs[step->src_first + k - targets];
		struct plan_access access = plan_team_access(r->team, rank, ref, step->len, k < targets);

		access.id = id;
		r->list[r->n++] = access;
	}
}

static choir_status list_accesses(struct races *r)
{
	size_t cap = r->graph->n;

	for (int rank = 0; rank < r->team->n; rank++)
		cap += r->team->ranks[rank].plan->n_refs;
	r->list = calloc(cap + 1, sizeof *r->list);
	if (!r->list)
		return error_no_memory("the accesses of a plan", cap * sizeof *r->list);
	for (uint32_t id = 0; id < r->graph->n; id++)
		list_step(r, id);
	qsort(r->list, r->n, sizeof *r->list, by_position);
	return CHOIR_SUCCESS;
}

static choir_status check_pair(const struct races *r, const struct plan_access *x, const struct plan_access *y)
{
	const struct plan_graph *g = r->graph;
	uint32_t a = g->position[x->id], b = g->position[y->id], first = a < b ? a : b, second = a < b ? b : a;
	int rank = g->rank_of[g->order[second]], other = g->rank_of[g->order[first]];

	if ((!x->write && !y->write) || a == b || is_before(r, first, second))
		return CHOIR_SUCCESS;
	return plan_team_wrong(r->team, rank, g->order[second] - g->base[rank],
	                       "not ordered with step %u of rank %d (%s), which touches the same bytes",
	                       g->order[first] - g->base[other], other,
	                       plan_graph_step(r->team, g, g->order[first])->label);
}

static choir_status check_pairs(const struct races *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct plan_access *x = &r->list[i];

		for (size_t k = i + 1; k < r->n && r->list[k].space == x->space && r->list[k].off < x->off + x->len;
		     k++)
			TRY(check_pair(r, x, &r->list[k]));
	}
	return CHOIR_SUCCESS;
}

/* Each access of another rank to the owner's buffers, list[from .. to), must happen before a step of the owner, so that
 * the owner is not done before it. */
static choir_status check_owner(const struct races *r, int owner, size_t from, size_t to, uint64_t *row)
{
	const struct plan_graph *g = r->graph;

	memset(row, 0, (g->n / 64 + 1) * sizeof *row);
	for (uint32_t id = g->base[owner]; id < g->base[owner + 1]; id++)
		if (!(row[g->position[id] / 64] >> (g->position[id] % 64) & 1))
			or_row(row, r, g->position[id]);
	for (size_t i = from; i < to; i++) {
		uint32_t id = r->list[i].id, at = g->position[id];
		int rank = g->rank_of[id];

		if (rank != owner && !(row[at / 64] >> (at % 64) & 1))
			return plan_team_wrong(r->team, rank, id - g->base[rank],
			                       "touches a buffer of rank %d, which could be done already", owner);
	}
	return CHOIR_SUCCESS;
}

static bool touched_by_others(const struct races *r, int owner, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (r->graph->rank_of[r->list[i].id] != owner)
			return true;
	return false;
}

static choir_status check_owners(const struct races *r)
{
	uint64_t *row = malloc((r->graph->n / 64 + 1) * sizeof *row);
	choir_status st = row ? CHOIR_SUCCESS : error_no_memory("the order of a plan's steps", r->graph->n / 8);

	for (size_t i = 0, end; st == CHOIR_SUCCESS && i < r->n; i = end) {
		uint32_t space = r->list[i].space;

		for (end = i; end < r->n && r->list[end].space == space; end++)
			;
		if (space % PLAN_SPACES == PLAN_SPACE_USER && touched_by_others(r, (int)(space / PLAN_SPACES), i, end))
			st = check_owner(r, (int)(space / PLAN_SPACES), i, end, row);
	}
	free(row);
	return st;
}

choir_status plan_races_check(const struct plan_team *team, const struct plan_graph *graph)
{
	struct races r = { .team = team, .graph = graph };
	choir_status st;

	if (graph->n > PLAN_CHECK_MOST_STEPS)
		return error_set(CHOIR_UNSUPPORTED, "%u steps of %d ranks: at most %u can be checked", graph->n,
		                 team->n, PLAN_CHECK_MOST_STEPS);
	st = order_all(&r);
	if (st == CHOIR_SUCCESS)
		st = list_accesses(&r);
	if (st == CHOIR_SUCCESS)
		st = check_pairs(&r);
	if (st == CHOIR_SUCCESS)
		st = check_owners(&r);
	free(r.triangle);
	free(r.list);
	return st;
}
