/* SPDX-License-Identifier: MIT */
#include "plan/plan_graph.h"

#include "base/error.h"
#include "plan/plan_check.h"

#include <stdlib.h>
#include <string.h>

struct edges {
	struct edge {
		uint32_t to, from;
	} * list;
	size_t n, cap;
};

struct message { /* for matching: sorted by sender, receiver, tag */
	int from, to;
	uint32_t tag, id;
	uint64_t len;
};

static choir_status add_edge(struct edges *e, uint32_t to, uint32_t from)
{
	if (e->n == PLAN_CHECK_MOST_EDGES)
		return error_set(CHOIR_UNSUPPORTED,
		                 "the plans have more than %u dependencies between steps: no more can be checked",
		                 PLAN_CHECK_MOST_EDGES);
	if (e->n == e->cap) {
		size_t cap = e->cap ? e->cap * 2 : 1024;
		void *bigger = realloc(e->list, cap * sizeof *e->list);

		if (!bigger)
			return error_no_memory("the order of a plan's steps", cap * sizeof *e->list);
		e->list = bigger;
		e->cap = cap;
	}
	e->list[e->n++] = (struct edge){ to, from };
	return CHOIR_SUCCESS;
}

static uint32_t step_number(const struct plan_graph *graph, uint32_t id)
{
	return id - graph->base[graph->rank_of[id]];
}

static int by_ends(const void *a_, const void *b_)
{
	const struct message *a = a_, *b = b_;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static size_t count_kind(const struct plan_team *team, enum plan_kind kind)
{
	size_t n = 0;

	for (int r = 0; r < team->n; r++)
		for (uint32_t i = 0; i < team->ranks[r].plan->n_steps; i++)
			n += team->ranks[r].plan->steps[i].kind == kind;
	return n;
}

/* Collects the sends or the receives, sorted; an error if two have the same ranks and tag. */
static choir_status collect(const struct plan_team *team, const struct plan_graph *graph, enum plan_kind kind,
                            struct message *out, size_t n)
{
	size_t k = 0;

	for (uint32_t id = 0; id < graph->n; id++) {
		const struct plan_step *step = plan_graph_step(team, graph, id);
		int rank = graph->rank_of[id];

		if (step->kind == kind)
			out[k++] = (struct message){ .from = kind == PLAN_SEND_MSG ? rank : step->peer,
				                     .to = kind == PLAN_SEND_MSG ? step->peer : rank,
				                     .tag = step->tag,
				                     .id = id,
				                     .len = step->len };
	}
	qsort(out, n, sizeof *out, by_ends);
	for (size_t i = 1; i < n; i++)
		if (by_ends(&out[i - 1], &out[i]) == 0)
			return plan_team_wrong(team, graph->rank_of[out[i].id], step_number(graph, out[i].id),
			                       "tag %u is used twice from rank %d to rank %d", out[i].tag, out[i].from,
			                       out[i].to);
	return CHOIR_SUCCESS;
}

static choir_status pair(const struct plan_team *team, struct plan_graph *graph, struct edges *edges,
                         const struct message *send, const struct message *recv)
{
	int order = !send ? 1 : !recv ? -1 : by_ends(send, recv);

	if (order != 0) {
		const struct message *lone = order < 0 ? send : recv;

		return plan_team_wrong(team, graph->rank_of[lone->id], step_number(graph, lone->id),
		                       "the message from rank %d to rank %d, tag %u, %llu bytes, has no %s", lone->from,
		                       lone->to, lone->tag, (unsigned long long)lone->len,
		                       order < 0 ? "receive" : "send");
	}
	if (send->len != recv->len)
		return plan_team_wrong(team, recv->to, step_number(graph, recv->id),
		                       "receives %llu bytes where %llu are sent", (unsigned long long)recv->len,
		                       (unsigned long long)send->len);
	graph->partner[recv->id] = send->id;
	return add_edge(edges, recv->id, send->id);
}

static choir_status match_messages(const struct plan_team *team, struct plan_graph *graph, struct edges *edges)
{
	size_t n_sends = count_kind(team, PLAN_SEND_MSG), n_recvs = count_kind(team, PLAN_RECV_MSG),
	       n = n_sends > n_recvs ? n_sends : n_recvs;
	struct message *sends = calloc(n_sends + 1, sizeof *sends), *recvs = calloc(n_recvs + 1, sizeof *recvs);
	choir_status st = CHOIR_SUCCESS;

	if (!sends || !recvs)
		st = error_no_memory("a plan's messages", (n_sends + n_recvs) * sizeof *sends);
	if (st == CHOIR_SUCCESS)
		st = collect(team, graph, PLAN_SEND_MSG, sends, n_sends);
	if (st == CHOIR_SUCCESS)
		st = collect(team, graph, PLAN_RECV_MSG, recvs, n_recvs);
	for (size_t i = 0; st == CHOIR_SUCCESS && i < n; i++)
		st = pair(team, graph, edges, i < n_sends ? &sends[i] : NULL, i < n_recvs ? &recvs[i] : NULL);
	free(sends);
	free(recvs);
	return st;
}

/* The PUBLISH steps of each rank, in the order of the plan, so that phases rise. */
struct publishes {
	uint32_t *first; /* [ranks + 1] */
	uint32_t *steps;
};

static choir_status list_publishes(const struct plan_team *team, struct publishes *p)
{
	size_t n = count_kind(team, PLAN_PUBLISH);
	uint32_t k = 0;

	p->first = calloc((size_t)team->n + 1, sizeof *p->first);
	p->steps = calloc(n + 1, sizeof *p->steps);
	if (!p->first || !p->steps)
		return error_no_memory("a plan's phases", n * sizeof *p->steps);
	for (int r = 0; r < team->n; r++) {
		for (uint32_t i = 0; i < team->ranks[r].plan->n_steps; i++)
			if (team->ranks[r].plan->steps[i].kind == PLAN_PUBLISH)
				p->steps[k++] = i;
		p->first[r + 1] = k;
	}
	return CHOIR_SUCCESS;
}

/* The first PUBLISH of rank whose phase is at least phase. */
static uint32_t publish_of(const struct plan_team *team, const struct publishes *p, int rank, uint32_t phase)
{
	uint32_t low = p->first[rank], high = p->first[rank + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (team->ranks[rank].plan->steps[p->steps[middle]].phase < phase)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->first[rank + 1] ? p->steps[low] : PLAN_NO_STEP;
}

static choir_status add_await(const struct plan_team *team, const struct plan_graph *graph,
                              const struct publishes *publishes, struct edges *edges, uint32_t id)
{
	const struct plan_step *step = plan_graph_step(team, graph, id);
	int rank = graph->rank_of[id], all = step->peer == PLAN_ALL;

	for (int peer = all ? 0 : step->peer; peer < (all ? team->n : step->peer + 1); peer++) {
		uint32_t published;

		if (team->ranks[peer].node != team->ranks[rank].node)
			continue;
		published = publish_of(team, publishes, peer, step->phase);
		if (published == PLAN_NO_STEP)
			return plan_team_wrong(team, rank, step_number(graph, id), "rank %d never publishes phase %u",
			                       peer, step->phase);
		TRY(add_edge(edges, id, graph->base[peer] + published));
	}
	return CHOIR_SUCCESS;
}

static choir_status match_flags(const struct plan_team *team, const struct plan_graph *graph, struct edges *edges)
{
	struct publishes publishes = { 0 };
	choir_status st = list_publishes(team, &publishes);

	for (uint32_t id = 0; st == CHOIR_SUCCESS && id < graph->n; id++)
		if (plan_graph_step(team, graph, id)->kind == PLAN_AWAIT)
			st = add_await(team, graph, &publishes, edges, id);
	free(publishes.first);
	free(publishes.steps);
	return st;
}

static choir_status list_edges(const struct plan_team *team, struct plan_graph *graph, struct edges *edges)
{
	for (uint32_t id = 0; id < graph->n; id++) {
		const struct plan *plan = team->ranks[graph->rank_of[id]].plan;
		const struct plan_step *step = plan_graph_step(team, graph, id);

		for (uint32_t d = 0; d < step->n_deps; d++)
			TRY(add_edge(edges, id, graph->base[graph->rank_of[id]] + plan->deps[step->dep_first + d]));
	}
	TRY(match_messages(team, graph, edges));
	return match_flags(team, graph, edges);
}

/* Builds compressed rows: count, prefix sums, fill.  Filling moves first[i + 1] from the begin of row i to its end. */
static choir_status fill_rows(uint32_t n, const struct edges *edges, bool by_to, uint32_t **first_p, uint32_t **row_p)
{
	uint32_t *first = calloc((size_t)n + 2, sizeof *first), *row = calloc(edges->n + 1, sizeof *row);

	*first_p = first;
	*row_p = row;
	if (!first || !row)
		return error_no_memory("the order of a plan's steps", (edges->n + n) * sizeof *row);
	for (size_t i = 0; i < edges->n; i++)
		first[(by_to ? edges->list[i].to : edges->list[i].from) + 2]++;
	for (uint32_t id = 0; id < n; id++)
		first[id + 2] += first[id + 1];
	for (size_t i = 0; i < edges->n; i++)
		row[first[(by_to ? edges->list[i].to : edges->list[i].from) + 1]++] =
		    by_to ? edges->list[i].from : edges->list[i].to;
	return CHOIR_SUCCESS;
}

/* Sorts topologically.  Until a step has its position in the order, graph->position counts its predecessors that have
 * none. */
static choir_status sort(const struct plan_team *team, struct plan_graph *graph)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < graph->n; id++) {
		graph->position[id] = graph->pred_first[id + 1] - graph->pred_first[id];
		if (graph->position[id] == 0)
			graph->order[n++] = id;
	}
	for (uint32_t at = 0; at < n; at++)
		for (uint32_t s = graph->succ_first[graph->order[at]]; s < graph->succ_first[graph->order[at] + 1]; s++)
			if (--graph->position[graph->succs[s]] == 0)
				graph->order[n++] = graph->succs[s];
	for (uint32_t id = 0; n < graph->n && id < graph->n; id++)
		if (graph->position[id])
			return plan_team_wrong(team, graph->rank_of[id], step_number(graph, id), "waits in a cycle");
	for (uint32_t at = 0; at < n; at++)
		graph->position[graph->order[at]] = at;
	return CHOIR_SUCCESS;
}

static choir_status number_steps(const struct plan_team *team, struct plan_graph *graph)
{
	graph->base = calloc((size_t)team->n + 1, sizeof *graph->base);
	if (!graph->base)
		return error_no_memory("a team of plans", (size_t)team->n * sizeof *graph->base);
	for (int r = 0; r < team->n; r++) {
		uint64_t end = (uint64_t)graph->base[r] + team->ranks[r].plan->n_steps;

		if (end >= PLAN_NO_STEP)
			return error_set(CHOIR_UNSUPPORTED, "%d plans of more than %u steps", team->n, PLAN_NO_STEP);
		graph->base[r + 1] = (uint32_t)end;
	}
	graph->n = graph->base[team->n];
	graph->rank_of = calloc((size_t)graph->n + 1, sizeof *graph->rank_of);
	graph->order = calloc((size_t)graph->n + 1, sizeof *graph->order);
	graph->position = calloc((size_t)graph->n + 1, sizeof *graph->position);
	graph->partner = calloc((size_t)graph->n + 1, sizeof *graph->partner);
	if (!graph->rank_of || !graph->order || !graph->position || !graph->partner)
		return error_no_memory("the order of a plan's steps", (size_t)graph->n * 4 * sizeof *graph->order);
	for (int r = 0; r < team->n; r++)
		for (uint32_t id = graph->base[r]; id < graph->base[r + 1]; id++)
			graph->rank_of[id] = r;
	return CHOIR_SUCCESS;
}

choir_status plan_graph_build(const struct plan_team *team, struct plan_graph *graph)
{
	struct edges edges = { 0 };
	choir_status st;

	*graph = (struct plan_graph){ 0 };
	TRY(number_steps(team, graph));
	st = list_edges(team, graph, &edges);
	if (st == CHOIR_SUCCESS)
		st = fill_rows(graph->n, &edges, true, &graph->pred_first, &graph->preds);
	if (st == CHOIR_SUCCESS)
		st = fill_rows(graph->n, &edges, false, &graph->succ_first, &graph->succs);
	free(edges.list);
	return st == CHOIR_SUCCESS ? sort(team, graph) : st;
}

void plan_graph_free(struct plan_graph *graph)
{
	free(graph->base);
	free(graph->rank_of);
	free(graph->pred_first);
	free(graph->preds);
	free(graph->succ_first);
	free(graph->succs);
	free(graph->order);
	free(graph->position);
	free(graph->partner);
	*graph = (struct plan_graph){ 0 };
}

/* Writes the edges from other ranks' steps to step id. */
static void dump_edges(const struct plan_team *team, const struct plan_graph *graph, uint32_t id, FILE *out)
{
	bool message = plan_graph_step(team, graph, id)->kind == PLAN_RECV_MSG;

	for (uint32_t p = graph->pred_first[id]; p < graph->pred_first[id + 1]; p++) {
		uint32_t from = graph->preds[p];

		if (graph->rank_of[from] != graph->rank_of[id])
			fprintf(out, "\tr%ds%u -> r%ds%u [%s];\n", graph->rank_of[from], step_number(graph, from),
			        graph->rank_of[id], step_number(graph, id), message ? "color=blue" : "style=dotted");
	}
}

choir_status plan_graph_dump_dot(const struct plan_team *team, FILE *out)
{
	struct plan_graph graph;
	choir_status st = plan_graph_build(team, &graph);

	if (st == CHOIR_SUCCESS) {
		for (int r = 0; r < team->n; r++)
			plan_dump_dot_rank(team->ranks[r].plan, r, out);
		for (uint32_t id = 0; id < graph.n; id++)
			dump_edges(team, &graph, id, out);
		fputs("}\n", out);
	}
	plan_graph_free(&graph);
	return st;
}
