/* SPDX-License-Identifier: MIT */
/* choir_predict: the plans that a call on this comm would have, of all ranks, played through by the cost model. */
#include "api/call.h"
#include "api/dense_plan.h"

#include "plan/plan_cost.h"

static const char function[] = "choir_predict";

static choir_status read_collective(const char *text, enum collective *out)
{
	if (text == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: no collective is named", function);
	TRY(collective_parse(text, out));
	if (collective_has(*out, TRAIT_NO_PLAN | TRAIT_UNEVEN))
		return error_set(CHOIR_UNSUPPORTED, "%s: %s has no plan that its count alone decides", function, text);
	return CHOIR_SUCCESS;
}

/* The model's rates; of the network those that "costs:" in the comm's rules sets. */
static struct plan_costs costs_of(const struct choir_comm *comm)
{
	const float *network = comm->rules.costs.ns[LINK_NETWORK], *usual = link_costs_default.ns[LINK_NETWORK];
	struct plan_costs costs = plan_costs_default;

	if (network[COST_ALPHA] != usual[COST_ALPHA])
		costs.network.latency_s = (double)network[COST_ALPHA] / 1e9;
	if (network[COST_BETA] != usual[COST_BETA] && network[COST_BETA] > 0)
		costs.network.bytes_per_s = 1e9 / (double)network[COST_BETA];
	return costs;
}

/* Makes `in` the rank's part of the call; false if it takes no part in a send or recv. */
static bool take_rank(const struct dense *d, int rank, struct algo_in *in)
{
	int me = d->comm->rank;

	in->me = rank;
	if (!collective_has(d->collective, TRAIT_PAIR))
		return true;
	if (rank != me && rank != d->root)
		return false;
	in->root = rank == me ? d->root : me;
	if (rank != me)
		in->collective = d->collective == COLLECTIVE_SEND ? COLLECTIVE_RECV : COLLECTIVE_SEND;
	return true;
}

static choir_status add_rank(const struct dense *d, const struct algorithm *algorithm, struct algo_in in, int rank,
                             struct plan_cost *cost)
{
	bool takes_part = take_rank(d, rank, &in);
	struct plan plan;
	choir_status st;

	plan_init(&plan, algorithm->name, in.elem_bytes);
	if (in.collective != algorithm->collective)
		algorithm = algo_find(in.collective, algorithm->name);
	st = takes_part && algorithm != NULL ? algorithm->build(&in, &plan) : plan_finish(&plan);
	if (st == CHOIR_SUCCESS)
		st = plan_cost_add(cost, rank, &plan);
	plan_fini(&plan);
	return st;
}

static choir_status simulate(const struct dense *d, const struct algorithm *algorithm, const struct algo_in *in,
                             double *seconds_p)
{
	const struct choir_comm *comm = d->comm;
	struct plan_costs costs = costs_of(comm);
	struct plan_forecast forecast = { 0 };
	struct plan_cost *cost;
	choir_status st = CHOIR_SUCCESS;

	TRY(plan_cost_create(comm->n, comm->layout.node_of, &costs, &cost));
	for (int rank = 0; rank < comm->n && st == CHOIR_SUCCESS; rank++)
		st = add_rank(d, algorithm, *in, rank, cost);
	if (st == CHOIR_SUCCESS)
		st = plan_cost_run(cost, &forecast, NULL);
	plan_cost_destroy(cost);
	*seconds_p = forecast.seconds;
	return st;
}

static choir_status predict(struct dense *d, const choir_call *call, double *seconds_p, const char **algorithm_p)
{
	const struct algorithm *algorithm;
	struct algo_in in;
	double seconds;

	if (collective_has(d->collective, TRAIT_REDUCES) && d->op == CHOIR_OP_LOCAL)
		return error_set(CHOIR_UNSUPPORTED, "%s: the operator local moves nothing between ranks", function);
	TRY(dense_plan_foresee(d, call, false, &in, &algorithm));
	TRY(simulate(d, algorithm, &in, &seconds));
	*seconds_p = seconds;
	if (algorithm_p != NULL)
		*algorithm_p = algorithm->name;
	return CHOIR_SUCCESS;
}

choir_status choir_predict(choir_comm *comm, const char *collective, size_t count, choir_dtype dtype, choir_op op,
                           int root, const choir_call *given, double *seconds_p, const char **algorithm_p)
{
	struct call_form form = { .name = function };
	struct call_key key = { .form = &form, .count = count, .dtype = dtype, .op = op, .peer = root };
	struct dense d;
	choir_call call;
	choir_status st;

	if (seconds_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null pointer for the seconds", function);
	TRY(read_collective(collective, &form.collective));
	TRY(call_read(function, given, CALL_TAKES_FACTOR | CALL_TAKES_TAG, &call));
	key.factor = call.factor;
	TRY(call_enter(function, comm));
	st = comm_failure(comm);
	if (st == CHOIR_SUCCESS)
		st = dense_of(comm, &key, &form, &d);
	if (st == CHOIR_SUCCESS)
		st = predict(&d, &call, seconds_p, algorithm_p);
	comm_leave(comm);
	return st;
}
