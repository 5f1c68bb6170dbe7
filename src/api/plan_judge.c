/* SPDX-License-Identifier: MIT */
/* Plans checked, and played through. */
#include "api/call.h"
#include "api/plan_case.h"

#include "algo/outcome.h"
#include "base/error.h"
#include "base/plural.h"
#include "plan/plan_cost.h"

#include <stdio.h>
#include <string.h>

/* In order and in a few random ones: what depends on the order would differ. */
enum { ORDERS = 4 };

/* Before plans are built, whose memory grows with the bytes as well. */
static choir_status check_bytes(const struct plan_case *c)
{
	uint64_t bytes = 0;

	for (int r = 0; r < c->options.ranks; r++) {
		struct algo_in in = plan_case_in(c, r);
		struct plan_rank rank = outcome_rank(&in, NULL);

		if (__builtin_add_overflow(bytes, rank.send_bytes, &bytes) ||
		    __builtin_add_overflow(bytes, rank.recv_bytes, &bytes))
			bytes = UINT64_MAX;
		TRY(plan_prove_fits(bytes, c->elem_bytes));
	}
	return CHOIR_SUCCESS;
}

static choir_status check_team(const struct plan_case *c, const struct plan_case_team *t)
{
	struct plan_wants wants = outcome_wants(t->ins, c->algorithm->fold_order);

	TRY(plan_check(&t->team));
	for (unsigned seed = 0; seed < ORDERS; seed++)
		TRY(plan_prove(&t->team, &wants, seed));
	return CHOIR_SUCCESS;
}

static choir_status report(const struct plan_case *c, const struct plan_case_team *t, char **report_p)
{
	uint64_t steps = 0, messages = 0;
	char *text;

	for (int r = 0; r < t->n; r++) {
		steps += t->plans[r].n_steps;
		for (uint32_t i = 0; i < t->plans[r].n_steps; i++)
			messages += t->plans[r].steps[i].kind == PLAN_SEND_MSG;
	}
	if (asprintf(&text, "%s by %s, %d rank%s on %d node%s, %zu byte%s: %llu step%s, %llu message%s: right",
	             c->options.collective, c->algorithm->name, t->n, plural(t->n), c->layout.n_nodes,
	             plural(c->layout.n_nodes), c->options.bytes, plural(c->options.bytes), (unsigned long long)steps,
	             plural(steps), (unsigned long long)messages, plural(messages)) < 0)
		return error_no_memory("a report", 256);
	*report_p = text;
	return CHOIR_SUCCESS;
}

choir_status choir_plan_check(const choir_plan_options *options, char **report_p)
{
	struct plan_case c;
	struct plan_case_team team = { 0 };
	choir_status st;

	TRY(plan_case_init("choir_plan_check", options, &c));
	st = plan_case_choose("choir_plan_check", &c);
	if (st == CHOIR_SUCCESS)
		st = check_bytes(&c);
	if (st == CHOIR_SUCCESS)
		st = plan_case_team_init(&c, CHOIR_PLAN_ALL_RANKS, PLAN_CHECK_MOST_STEPS, &team);
	if (st == CHOIR_SUCCESS)
		st = check_team(&c, &team);
	if (st == CHOIR_SUCCESS && report_p != NULL)
		st = report(&c, &team, report_p);
	plan_case_team_fini(&team);
	plan_case_fini(&c);
	return st;
}

static choir_plan_costs public_costs(const struct plan_costs *costs)
{
	return (choir_plan_costs){
		.struct_size = sizeof(choir_plan_costs),
		.network_latency_us = costs->network.latency_s * 1e6,
		.network_GBps = costs->network.bytes_per_s / 1e9,
		.network_overhead_us = costs->network.overhead_s * 1e6,
		.network_copies = costs->network.copies,
		.node_latency_us = costs->node.latency_s * 1e6,
		.node_GBps = costs->node.bytes_per_s / 1e9,
		.node_overhead_us = costs->node.overhead_s * 1e6,
		.node_copies = costs->node.copies,
		.copy_GBps = costs->copy_bytes_per_s / 1e9,
		.reduce_GBps = costs->reduce_bytes_per_s / 1e9,
		.flag_us = costs->flag_s * 1e6,
		.step_us = costs->step_s * 1e6,
		.slot_GBps = costs->slot_bytes_per_s / 1e9,
	};
}

choir_status choir_plan_costs_default(choir_plan_costs *costs)
{
	choir_plan_costs usual = public_costs(&plan_costs_default);

	TRY(call_check_struct("choir_plan_costs_default", "costs", "sizeof(choir_plan_costs)", costs, sizeof usual));
	usual.struct_size = costs->struct_size;
	memcpy(costs, &usual, costs->struct_size);
	return CHOIR_SUCCESS;
}

static choir_status read_costs(const choir_plan_costs *given, struct plan_costs *out)
{
	choir_plan_costs c = public_costs(&plan_costs_default);

	if (given != NULL)
		TRY(call_read_struct("choir_plan_predict", "costs", "sizeof(choir_plan_costs)", given, &c, sizeof c));
	*out = (struct plan_costs){
		.network = { c.network_latency_us / 1e6, c.network_GBps * 1e9, c.network_overhead_us / 1e6,
		             c.network_copies },
		.node = { c.node_latency_us / 1e6, c.node_GBps * 1e9, c.node_overhead_us / 1e6, c.node_copies },
		.copy_bytes_per_s = c.copy_GBps * 1e9,
		.reduce_bytes_per_s = c.reduce_GBps * 1e9,
		.flag_s = c.flag_us / 1e6,
		.step_s = c.step_us / 1e6,
		.slot_bytes_per_s = c.slot_GBps * 1e9,
	};
	return plan_costs_check(out);
}

/* One rank's plan at a time: all at once would be some GB for a thousand ranks. */
static choir_status add_ranks(const struct plan_case *c, struct plan_cost *cost)
{
	for (int r = 0; r < c->options.ranks; r++) {
		struct plan plan;
		choir_status st = plan_case_build(c, r, &plan);

		if (st == CHOIR_SUCCESS)
			st = plan_cost_add(cost, r, &plan);
		plan_fini(&plan);
		TRY(st);
	}
	return CHOIR_SUCCESS;
}

static choir_status predict(const struct plan_case *c, const struct plan_costs *costs, struct plan_forecast *out,
                            double *finish_s)
{
	struct plan_cost *cost;
	choir_status st;

	TRY(plan_cost_create(c->options.ranks, c->layout.node_of, costs, &cost));
	st = add_ranks(c, cost);
	if (st == CHOIR_SUCCESS)
		st = plan_cost_run(cost, out, finish_s);
	plan_cost_destroy(cost);
	return st;
}

choir_status choir_plan_predict(const choir_plan_options *options, const choir_plan_costs *costs,
                                choir_plan_prediction *prediction, double *finish_s)
{
	struct plan_case c;
	struct plan_costs rates;
	struct plan_forecast forecast = { 0 };
	choir_plan_prediction out;
	choir_status st;

	TRY(call_check_struct("choir_plan_predict", "prediction", "sizeof(choir_plan_prediction)", prediction,
	                      sizeof out));
	TRY(read_costs(costs, &rates));
	TRY(plan_case_init("choir_plan_predict", options, &c));
	st = plan_case_choose("choir_plan_predict", &c);
	if (st == CHOIR_SUCCESS)
		st = predict(&c, &rates, &forecast, finish_s);
	if (st == CHOIR_SUCCESS) {
		out =
		    (choir_plan_prediction){ prediction->struct_size, forecast.seconds,          forecast.steps,
			                     forecast.messages,       forecast.network_messages, forecast.network_bytes,
			                     c.algorithm->name };
		memcpy(prediction, &out, prediction->struct_size);
	}
	plan_case_fini(&c);
	return st;
}
