/* SPDX-License-Identifier: MIT */
#include "plan/checker.h"

#include <stdlib.h>
#include <string.h>

struct edges {
	struct edge {
		uint32_t to, from;
	} *list;
	size_t n, cap;
};

struct message { /* for matching: sorted by sender, receiver, tag */
	int from, to;
	uint32_t tag, id;
	uint64_t len;
};

static void add_edge(struct edges *e, uint32_t to, uint32_t from)
{
	if (e->n == e->cap) {
		e->cap = e->cap ? e->cap * 2 : 1024;
		e->list = realloc(e->list, e->cap * sizeof *e->list);
	}
	e->list[e->n++] = (struct edge){ to, from };
}

const struct plan_step *graph_step(const struct world *world, const struct graph *graph, uint32_t id)
{
	int rank = graph->rank_of[id];

	return &world->plans[rank].steps[id - graph->base[rank]];
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

/* The messages of one kind, sorted; false if two have the same ends and tag. */
static bool collect(struct world *world, const struct graph *graph, enum plan_kind kind, struct message *out, size_t *n_p)
{
	size_t n = 0;

	for (uint32_t id = 0; id < graph->n; id++) {
		const struct plan_step *step = graph_step(world, graph, id);
		int rank = graph->rank_of[id];

		if (step->kind == kind)
			out[n++] = (struct message){ .from = kind == PLAN_SEND_MSG ? rank : step->peer,
				                     .to = kind == PLAN_SEND_MSG ? step->peer : rank,
				                     .tag = step->tag, .id = id, .len = step->len };
	}
	qsort(out, n, sizeof *out, by_ends);
	*n_p = n;
	for (size_t i = 1; i < n; i++)
		if (by_ends(&out[i - 1], &out[i]) == 0)
			return world_fail(world, graph->rank_of[out[i].id], (long)(out[i].id - graph->base[graph->rank_of[out[i].id]]),
			                  "tag %u used twice from %d to %d", out[i].tag, out[i].from, out[i].to);
	return true;
}

static bool match_messages(struct world *world, struct graph *graph, struct edges *edges)
{
	struct message *sends = calloc((size_t)graph->n + 1, sizeof *sends), *recvs = calloc((size_t)graph->n + 1, sizeof *recvs);
	size_t n_sends = 0, n_recvs = 0;
	bool ok = collect(world, graph, PLAN_SEND_MSG, sends, &n_sends) && collect(world, graph, PLAN_RECV_MSG, recvs, &n_recvs);

	for (size_t i = 0; ok && (i < n_sends || i < n_recvs); i++) {
		const struct message *odd = i < n_recvs ? &recvs[i] : &sends[i];

		if (i >= n_sends || i >= n_recvs || by_ends(&sends[i], &recvs[i]) != 0) {
			ok = world_fail(world, graph->rank_of[odd->id], (long)(odd->id - graph->base[graph->rank_of[odd->id]]),
			                "a message without its partner near %d -> %d tag %u", odd->from, odd->to, odd->tag);
		} else if (sends[i].len != recvs[i].len) {
			ok = world_fail(world, recvs[i].to, (long)(recvs[i].id - graph->base[recvs[i].to]),
			                "receives %llu bytes where %llu are sent", (unsigned long long)recvs[i].len,
			                (unsigned long long)sends[i].len);
		} else {
			graph->partner[recvs[i].id] = sends[i].id;
			add_edge(edges, recvs[i].id, sends[i].id);
		}
	}
	free(sends);
	free(recvs);
	return ok;
}

/* The first PUBLISH of rank whose phase is at least phase; phases were seen to rise along the plan. */
static long publish_of(const struct plan *plan, uint32_t phase)
{
	for (uint32_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == PLAN_PUBLISH && plan->steps[i].tag >= phase)
			return (long)i;
	return -1;
}

static bool add_await(struct world *world, const struct graph *graph, struct edges *edges, uint32_t id)
{
	const struct plan_step *step = graph_step(world, graph, id);
	const struct layout *l = &world->layout;
	int rank = graph->rank_of[id], node = l->node_of[rank];

	for (int i = l->node_first[node]; i < l->node_first[node + 1]; i++) {
		int peer = l->node_ranks[i];
		long published;

		if (step->peer != PLAN_ALL && step->peer != peer)
			continue;
		published = publish_of(&world->plans[peer], step->tag);
		if (published < 0)
			return world_fail(world, rank, (long)(id - graph->base[rank]), "rank %d never publishes phase %u", peer, step->tag);
		add_edge(edges, id, graph->base[peer] + (uint32_t)published);
	}
	return true;
}

static void fill_preds(struct graph *graph, const struct edges *edges)
{
	graph->pred_first = calloc((size_t)graph->n + 2, sizeof(uint32_t));
	graph->preds = calloc(edges->n + 1, sizeof(uint32_t));
	for (size_t i = 0; i < edges->n; i++)
		graph->pred_first[edges->list[i].to + 2]++;
	for (uint32_t id = 0; id < graph->n; id++)
		graph->pred_first[id + 2] += graph->pred_first[id + 1];
	for (size_t i = 0; i < edges->n; i++)
		graph->preds[graph->pred_first[edges->list[i].to + 1]++] = edges->list[i].from;
}

/* Sweeps until nothing more can run: ranks in turn, as an engine would. */
static bool sort(struct world *world, struct graph *graph)
{
	uint32_t n = 0, before;

	for (uint32_t id = 0; id < graph->n; id++)
		graph->place[id] = UINT32_MAX;
	do {
		before = n;
		for (uint32_t id = 0; id < graph->n; id++) {
			bool ready = graph->place[id] == UINT32_MAX;

			for (uint32_t p = graph->pred_first[id]; ready && p < graph->pred_first[id + 1]; p++)
				ready = graph->place[graph->preds[p]] != UINT32_MAX;
			if (!ready)
				continue;
			graph->place[id] = n;
			graph->order[n++] = id;
		}
	} while (n > before && n < graph->n);
	for (uint32_t id = 0; id < graph->n; id++)
		if (graph->place[id] == UINT32_MAX)
			return world_fail(world, graph->rank_of[id], (long)(id - graph->base[graph->rank_of[id]]), "waits in a cycle");
	return true;
}

bool graph_build(struct world *world, struct graph *graph)
{
	struct edges edges = { 0 };
	bool ok;

	*graph = (struct graph){ .base = calloc((size_t)world->n + 1, sizeof(uint32_t)) };
	for (int r = 0; r < world->n; r++)
		graph->base[r + 1] = graph->base[r] + world->plans[r].n_steps;
	graph->n = graph->base[world->n];
	graph->rank_of = calloc((size_t)graph->n + 1, sizeof(int));
	graph->order = calloc((size_t)graph->n + 1, sizeof(uint32_t));
	graph->place = calloc((size_t)graph->n + 1, sizeof(uint32_t));
	graph->partner = calloc((size_t)graph->n + 1, sizeof(uint32_t));
	for (int r = 0; r < world->n; r++)
		for (uint32_t i = 0; i < world->plans[r].n_steps; i++)
			graph->rank_of[graph->base[r] + i] = r;
	for (uint32_t id = 0; id < graph->n; id++) {
		const struct plan *plan = &world->plans[graph->rank_of[id]];
		const struct plan_step *step = graph_step(world, graph, id);

		for (uint32_t d = 0; d < step->n_deps; d++)
			add_edge(&edges, id, graph->base[graph->rank_of[id]] + plan->deps[step->dep_first + d]);
	}
	ok = match_messages(world, graph, &edges);
	for (uint32_t id = 0; ok && id < graph->n; id++)
		if (graph_step(world, graph, id)->kind == PLAN_AWAIT)
			ok = add_await(world, graph, &edges, id);
	fill_preds(graph, &edges);
	free(edges.list);
	return ok && sort(world, graph);
}

void graph_free(struct graph *graph)
{
	free(graph->base);
	free(graph->rank_of);
	free(graph->order);
	free(graph->place);
	free(graph->partner);
	free(graph->pred_first);
	free(graph->preds);
	*graph = (struct graph){ 0 };
}
