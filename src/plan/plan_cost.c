/* SPDX-License-Identifier: MIT */
#include "plan/plan_cost_impl.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Node: fitted to shared-memory reductions whose chunks stay in the cache.  Network: TCP at 1 Gb/s, the rate of the
 * links in the hosts tests, with one copy of each message at each end. */
const struct plan_costs plan_costs_default = {
	.network = { .latency_s = 30e-6, .bytes_per_s = 125e6, .overhead_s = 2e-6, .copies = 1 },
	.node = { .latency_s = 0.3e-6, .bytes_per_s = 10e9, .overhead_s = 0.2e-6, .copies = 1 },
	.copy_bytes_per_s = 45e9,
	.reduce_bytes_per_s = 45e9,
	.slot_bytes_per_s = 19e9,
	.flag_s = 0.3e-6,
	.step_s = 0.05e-6,
};

static choir_status check_value(const char *what, double value, bool rate)
{
	if (!isfinite(value) || value < 0 || (rate && value == 0))
		return error_set(CHOIR_ARGUMENT, "%s is %g: it must be finite and %s", what, value,
		                 rate ? "above 0" : "0 or more");
	return CHOIR_SUCCESS;
}

choir_status plan_costs_check(const struct plan_costs *costs)
{
	TRY(check_value("the network's latency", costs->network.latency_s, false));
	TRY(check_value("the network's rate", costs->network.bytes_per_s, true));
	TRY(check_value("the network's overhead", costs->network.overhead_s, false));
	TRY(check_value("the network's copies", costs->network.copies, false));
	TRY(check_value("the node's latency", costs->node.latency_s, false));
	TRY(check_value("the node's rate", costs->node.bytes_per_s, true));
	TRY(check_value("the node's overhead", costs->node.overhead_s, false));
	TRY(check_value("the node's copies", costs->node.copies, false));
	TRY(check_value("the copy rate", costs->copy_bytes_per_s, true));
	TRY(check_value("the reduce rate", costs->reduce_bytes_per_s, true));
	TRY(check_value("the flag's latency", costs->flag_s, false));
	TRY(check_value("the slot rate", costs->slot_bytes_per_s, true));
	return check_value("the time of a step", costs->step_s, false);
}

/* Sorts the ranks by node. */
static void group(struct plan_cost *cost)
{
	for (int r = 0; r < cost->n; r++)
		cost->node_first[cost->node_of[r] + 2]++;
	for (int i = 0; i < cost->n; i++)
		cost->node_first[i + 2] += cost->node_first[i + 1];
	for (int r = 0; r < cost->n; r++)
		cost->node_ranks[cost->node_first[cost->node_of[r] + 1]++] = r;
}

choir_status plan_cost_create(int n, const int *node_of, const struct plan_costs *costs, struct plan_cost **out_p)
{
	struct plan_cost *cost = calloc(1, sizeof *cost);
	size_t room = (size_t)n + 2;

	if (!cost)
		return error_no_memory("a forecast", sizeof *cost);
	*cost = (struct plan_cost){ .n = n, .costs = *costs, .free_waiters = NO_WAITER };
	cost->node_of = calloc(room, sizeof *cost->node_of);
	cost->node_first = calloc(room, sizeof *cost->node_first);
	cost->node_ranks = calloc(room, sizeof *cost->node_ranks);
	cost->ranks = calloc(room, sizeof *cost->ranks);
	cost->out_free_s = calloc(room, sizeof *cost->out_free_s);
	cost->in_free_s = calloc(room, sizeof *cost->in_free_s);
	if (!cost->node_of || !cost->node_first || !cost->node_ranks || !cost->ranks || !cost->out_free_s ||
	    !cost->in_free_s || plan_match_init(&cost->match, n) != CHOIR_SUCCESS) {
		plan_cost_destroy(cost);
		return error_no_memory("the ranks of a forecast", room * sizeof *cost->ranks);
	}
	memcpy(cost->node_of, node_of, (size_t)n * sizeof *node_of);
	group(cost);
	for (int r = 0; r < n; r++)
		cost->ranks[r].waiters = NO_WAITER;
	*out_p = cost;
	return CHOIR_SUCCESS;
}

void plan_cost_destroy(struct plan_cost *cost)
{
	if (!cost)
		return;
	for (int r = 0; cost->ranks && r < cost->n; r++) {
		free(cost->ranks[r].steps);
		free(cost->ranks[r].succs);
		free(cost->ranks[r].ready.list);
	}
	free(cost->ranks);
	free(cost->node_of);
	free(cost->node_first);
	free(cost->node_ranks);
	free(cost->out_free_s);
	free(cost->in_free_s);
	free(cost->waiters);
	free(cost->todo);
	plan_events_free(&cost->events);
	plan_match_fini(&cost->match);
	free(cost);
}

static bool is_message(const struct plan_step *step)
{
	return step->kind == PLAN_SEND_MSG || step->kind == PLAN_RECV_MSG;
}

static double to_slot_s(const struct plan_costs *costs, const struct plan_step *step)
{
	return step->dst.buf == PLAN_SLOT ? (double)step->len / costs->slot_bytes_per_s : 0;
}

/* The time that a step occupies the rank's processor. */
static double cost_of(const struct plan_cost *cost, int rank, const struct plan_step *step)
{
	const struct plan_costs *costs = &cost->costs;
	double len = (double)step->len;

	if (is_message(step)) {
		const struct plan_link *link =
		    cost->node_of[rank] == cost->node_of[step->peer] ? &costs->node : &costs->network;

		return costs->step_s + link->overhead_s + link->copies * len / costs->copy_bytes_per_s;
	}
	if (step->kind == PLAN_REDUCE)
		return costs->step_s + step->n_src * len / costs->reduce_bytes_per_s +
		       step->n_more * len / costs->copy_bytes_per_s + to_slot_s(costs, step);
	return costs->step_s + (step->kind == PLAN_COPY ? len / costs->copy_bytes_per_s + to_slot_s(costs, step) : 0);
}

choir_status plan_cost_add(struct plan_cost *cost, int rank, const struct plan *plan)
{
	struct cost_rank *r = &cost->ranks[rank];
	size_t n_succs = plan->n_steps ? plan->succ_first[plan->n_steps] : 0;

	cost->steps += plan->n_steps;
	if (cost->steps > PLAN_COST_MOST_STEPS)
		return error_set(CHOIR_UNSUPPORTED, "a prediction for more than %u steps: rank %d of %d has %u",
		                 PLAN_COST_MOST_STEPS, rank, cost->n, plan->n_steps);
	r->steps = calloc((size_t)plan->n_steps + 1, sizeof *r->steps);
	r->succs = malloc((n_succs + 1) * sizeof *r->succs);
	if (!r->steps || !r->succs)
		return error_no_memory("the steps of a forecast", plan->n_steps * sizeof *r->steps);
	if (n_succs)
		memcpy(r->succs, plan->succs, n_succs * sizeof *r->succs);
	for (uint32_t i = 0; i < plan->n_steps; i++) {
		const struct plan_step *step = &plan->steps[i];

		if ((is_message(step) || (step->kind == PLAN_AWAIT && step->peer != PLAN_ALL)) &&
		    (step->peer < 0 || step->peer >= cost->n))
			return error_set(CHOIR_MISMATCH, "rank %d step %u: there is no rank %d", rank, i, step->peer);
		r->steps[i] = (struct cost_step){ .cost_s = cost_of(cost, rank, step),
			                          .len = step->len,
			                          .peer = step->peer,
			                          .tag = step->tag,
			                          .succ_first = plan->succ_first[i],
			                          .left = step->n_deps & 0xfffffff,
			                          .kind = step->kind };
	}
	r->steps[plan->n_steps].succ_first = (uint32_t)n_succs;
	r->n_steps = plan->n_steps;
	r->meets = plan->peers;
	return CHOIR_SUCCESS;
}
