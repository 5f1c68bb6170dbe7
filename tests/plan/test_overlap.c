/* SPDX-License-Identifier: MIT */
/* Where memory is far, reads, exchange, reductions and writes of different chunks overlap.  The graph of all ranks'
 * plans is timed on ranks that have a bus for each direction, a core and a wire, each of which does one step at a
 * time, in the order in which they can begin, and takes a unit of time for a byte.  What a device reduces crosses the
 * bus first, and then a kernel takes as long, beside what crosses next. */
#include "plan/cases.h"
#include "plan/plan_events.h"
#include "plan/plan_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { READS, WRITES, CORE, WIRE, PARTS, NO_PART = PARTS };

static bool is_by_device(const struct plan_step *step)
{
	return step->kind == PLAN_REDUCE && step->dst.buf == PLAN_RECV;
}

static double cost_of(const struct plan_step *step)
{
	return (double)step->len * (is_by_device(step) ? step->n_src - 1 : 1);
}

static int part_of(const struct plan *plan, const struct plan_step *step)
{
	if (is_by_device(step))
		return WRITES;
	if (step->kind == PLAN_SEND_MSG)
		return WIRE;
	if (step->kind == PLAN_REDUCE)
		return CORE;
	if (step->kind != PLAN_COPY)
		return NO_PART;
	return plan->refs[step->src_first].buf == PLAN_SEND ? READS : step->dst.buf == PLAN_RECV ? WRITES : CORE;
}

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

/* When each step ends; ends: [graph->n], zeroed. */
static void time_steps(const struct plan_team *team, const struct plan_graph *graph, double *ends)
{
	uint32_t *waits_for = calloc(graph->n, sizeof *waits_for);
	double(*free_at)[PARTS + 1] = calloc((size_t)team->n, sizeof *free_at);
	struct plan_events ready = { .heap = NULL };
	struct plan_event event;
	uint32_t done = 0;

	for (uint32_t id = 0; id < graph->n; id++) {
		waits_for[id] = graph->pred_first[id + 1] - graph->pred_first[id];
		if (waits_for[id] == 0)
			assert_int_equal(plan_events_put(&ready, 0, 0, graph->rank_of[id], id), CHOIR_SUCCESS);
	}
	for (; plan_events_take(&ready, &event); done++) {
		const struct plan_step *step = plan_graph_step(team, graph, event.step);
		int part = part_of(team->ranks[event.rank].plan, step);
		double *at = &free_at[event.rank][part], end = event.time_s;

		if (part != NO_PART)
			end = *at = max_of(*at, end) + cost_of(step);
		if (is_by_device(step))
			end += cost_of(step); /* the kernel */
		ends[event.step] = end;
		for (uint32_t i = graph->succ_first[event.step]; i < graph->succ_first[event.step + 1]; i++) {
			uint32_t next = graph->succs[i];

			ends[next] = max_of(ends[next], end); /* until it is taken: when it can begin */
			if (--waits_for[next] == 0)
				assert_int_equal(plan_events_put(&ready, ends[next], 0, graph->rank_of[next], next),
				                 CHOIR_SUCCESS);
		}
	}
	assert_int_equal(done, graph->n);
	plan_events_free(&ready);
	free(free_at);
	free(waits_for);
}

struct times {
	double all, busy[PARTS], sum; /* of rank 0's parts */
};

static struct times times_of(const struct plan_team *team, const struct plan_graph *graph, const double *ends)
{
	const struct plan *plan = team->ranks[0].plan;
	struct times out = { 0 };

	for (uint32_t i = 0; i < graph->n; i++)
		out.all = max_of(out.all, ends[i]);
	for (uint32_t i = 0; i < plan->n_steps; i++)
		if (part_of(plan, &plan->steps[i]) < PARTS) {
			out.busy[part_of(plan, &plan->steps[i])] += cost_of(&plan->steps[i]);
			out.sum += cost_of(&plan->steps[i]);
		}
	return out;
}

static struct times time_call(enum collective collective, const char *name, int n, int per_node, uint64_t bytes,
                              bool by_device)
{
	int node_of[8] = { 0 };
	struct plan plans[8];
	struct plan_rank ranks[8] = { 0 };
	struct plan_team team = { .n = n, .ranks = ranks, .slot_bytes = 16 << 20, .message_bytes = 1 << 20 };
	struct plan_graph graph;

	for (int r = 0; r < n; r++)
		node_of[r] = r / per_node;
	struct layout layout = layout_make(n, node_of);
	for (int r = 0; r < n; r++) {
		struct algo_in in = { .layout = &layout,
			              .me = r,
			              .collective = collective,
			              .elem_bytes = 4,
			              .bytes = bytes,
			              .command_bytes = 40000,
			              .far_memory = true,
			              .owns_copied = by_device,
			              .owns_reduced = by_device,
			              .slot_bytes = team.slot_bytes,
			              .message_bytes = team.message_bytes };

		plan_init(&plans[r], name, 4);
		assert_int_equal(algo_find(collective, name)->build(&in, &plans[r]), CHOIR_SUCCESS);
		ranks[r] = (struct plan_rank){ .plan = &plans[r], .node = node_of[r] };
	}
	assert_int_equal(plan_graph_build(&team, &graph), CHOIR_SUCCESS);
	double *ends = calloc(graph.n, sizeof *ends);
	time_steps(&team, &graph, ends);
	struct times out = times_of(&team, &graph, ends);
	free(ends);
	plan_graph_free(&graph);
	for (int r = 0; r < n; r++)
		plan_fini(&plans[r]);
	layout_free(&layout);
	return out;
}

static const struct {
	enum collective collective;
	const char *name;
	int n, per_node;
	uint64_t bytes;
	bool by_device; /* Note [own block] in algo/reduce_scatter_slots.c */
} rows[] = {
	{ COLLECTIVE_ALLREDUCE, "twoshot", 2, 2, 16 << 20, false },
	{ COLLECTIVE_ALLREDUCE, "twoshot", 4, 4, 16 << 20, false },
	{ COLLECTIVE_ALLREDUCE, "hier_ring", 4, 2, 256 << 20, false },
	{ COLLECTIVE_ALLREDUCE, "hier_pairwise", 6, 2, 256 << 20, false },
	{ COLLECTIVE_REDUCE, "slots", 4, 4, 16 << 20, false },
	{ COLLECTIVE_REDUCE_SCATTER, "slots", 2, 2, 16 << 20, false },
	{ COLLECTIVE_REDUCE_SCATTER, "slots", 2, 2, 16 << 20, true },
	{ COLLECTIVE_REDUCE_SCATTER, "slots", 3, 3, 16 << 20, true },
	{ COLLECTIVE_ALLGATHER, "slots", 2, 2, 16 << 20, false },
	{ COLLECTIVE_ALLTOALL, "slots", 2, 2, 16 << 20, false },
	{ COLLECTIVE_BROADCAST, "slots", 2, 2, 16 << 20, false },
};

/* The call takes little longer than its busiest part alone.  One after another the parts would take `sum`. */
static void parts_overlap(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct times t = time_call(rows[i].collective, rows[i].name, rows[i].n, rows[i].per_node, rows[i].bytes,
		                           rows[i].by_device);
		double busiest = 0;

		for (int part = 0; part < PARTS; part++)
			busiest = max_of(busiest, t.busy[part]);
		assert_true(busiest > 0 && t.sum >= 1.5 * busiest);
		assert_true(rows[i].per_node == rows[i].n || t.busy[WIRE] > 0);
		if (t.all > 1.1 * busiest)
			fail_msg("%s of %d ranks takes %.2f times as long as its busiest part", rows[i].name, rows[i].n,
			         t.all / busiest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(parts_overlap) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
