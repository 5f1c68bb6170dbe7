/* SPDX-License-Identifier: MIT */
/* Note [far memory].  The cost model knows the host's memory alone.  Where a rank's buffers are behind a bus whose
 * rates were measured, the time is that of the plan between the buffers of the host that stand for them, and before it
 * one read of all of SEND, after it one write of all of RECV, each of the rank that takes longest.  Long calls go in
 * chunks that overlap, so they take less.  A plan on the device crosses no bus, but each of its
 * steps is a command; and so is what a rank that is alone does there. */
#include "api/forecast.h"

#include "algo/outcome.h"
#include "api/dense_plan.h"
#include "api/local.h"
#include "api/plan_case.h"
#include "plan/plan_cost.h"

#include <stdlib.h>

struct forecast {
	const struct choir_comm *comm;
	const struct algorithm *algorithm; /* NULL: the operator local */
	struct algo_in in;                 /* of this rank */
	bool far;                          /* the memory of the device is behind a bus */
	bool crosses;                      /* so SEND is read and RECV written by a command each */
};

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* The model's rates; of the network those that "costs:" in the comm's rules sets. */
static struct plan_costs costs_of(const struct forecast *f)
{
	const choir_device *device = f->comm->device;
	const float *network = f->comm->rules.costs.ns[LINK_NETWORK], *usual = link_costs_default.ns[LINK_NETWORK];
	struct plan_costs costs = plan_costs_default;

	if (network[COST_ALPHA] != usual[COST_ALPHA])
		costs.network.latency_s = (double)network[COST_ALPHA] / 1e9;
	if (network[COST_BETA] != usual[COST_BETA] && network[COST_BETA] > 0)
		costs.network.bytes_per_s = 1e9 / (double)network[COST_BETA];
	if (f->far && !f->crosses)
		costs.step_s =
		    most(costs.step_s, most(dev_crossing_ns(device, false, 0), dev_crossing_ns(device, true, 0)) / 1e9);
	return costs;
}

/* Makes `in` the rank's part of the call; false if it takes no part in a send or recv. */
static bool take_rank(const struct forecast *f, int rank, struct algo_in *in)
{
	int me = f->comm->rank, peer = f->in.root;

	*in = f->in;
	in->me = rank;
	if (!collective_has(f->in.collective, TRAIT_PAIR))
		return true;
	in->root = rank == me ? peer : me;
	if (rank != me)
		in->collective = f->in.collective == COLLECTIVE_SEND ? COLLECTIVE_RECV : COLLECTIVE_SEND;
	return rank == me || rank == peer;
}

static choir_status make_plan(const struct forecast *f, const struct algo_in *in, struct cached_plan **out_p)
{
	if (f->algorithm == NULL)
		return local_plan(in, out_p);
	return plan_cache_get(NULL, algo_find(in->collective, f->algorithm->name), in, out_p);
}

static choir_status add_ranks(const struct forecast *f, struct plan_cost *cost)
{
	for (int rank = 0; rank < f->comm->n; rank++) {
		struct cached_plan *cached;
		struct algo_in in;
		choir_status st;

		if (!take_rank(f, rank, &in))
			continue;
		TRY(make_plan(f, &in, &cached));
		st = plan_cost_add(cost, rank, &cached->plan);
		cached_plan_release(cached);
		TRY(st);
	}
	return CHOIR_SUCCESS;
}

static double crossing_s(const struct forecast *f, bool write, uint64_t bytes)
{
	return !f->crosses || bytes == 0 ? 0 : dev_crossing_ns(f->comm->device, write, bytes) / 1e9;
}

/* finish_s: when the plan of each rank is done, the reads before it left out. */
static double with_crossings(const struct forecast *f, const double *finish_s)
{
	double read_s = 0, done_s = 0;

	for (int rank = 0; rank < f->comm->n; rank++) {
		struct algo_in in;
		struct plan_rank sizes;

		if (!take_rank(f, rank, &in))
			continue;
		sizes = outcome_rank(&in, NULL);
		read_s = most(read_s, crossing_s(f, false, sizes.send_bytes));
		done_s = most(done_s, finish_s[rank] + crossing_s(f, true, sizes.recv_bytes));
	}
	return read_s + done_s;
}

static choir_status play(const struct forecast *f, double *finish_s)
{
	struct plan_costs costs = costs_of(f);
	struct plan_forecast forecast;
	struct plan_cost *cost;
	choir_status st;

	TRY(plan_cost_create(f->comm->n, f->comm->layout.node_of, &costs, &cost));
	st = add_ranks(f, cost);
	if (st == CHOIR_SUCCESS)
		st = plan_cost_run(cost, &forecast, finish_s);
	plan_cost_destroy(cost);
	return st;
}

static choir_status seconds_of(const struct forecast *f, double *seconds_p)
{
	size_t bytes = (size_t)f->comm->n * sizeof(double);
	double *finish_s = malloc(bytes);
	choir_status st;

	if (finish_s == NULL)
		return error_no_memory("a forecast", bytes);
	st = play(f, finish_s);
	if (st == CHOIR_SUCCESS)
		*seconds_p = with_crossings(f, finish_s);
	free(finish_s);
	return st;
}

/* Does nothing cross the bus? */
static bool stays(const struct forecast *f)
{
	bool reduces = collective_has(f->in.collective, TRAIT_REDUCES);

	if (f->algorithm == NULL)
		return false;
	return f->algorithm->on_device || (f->comm->n == 1 && f->in.owns_copied && (!reduces || f->in.owns_reduced));
}

static choir_status foresee(struct dense *d, const choir_call *call, double *seconds_p, const char **algorithm_p)
{
	struct forecast f = { .comm = d->comm };

	if (collective_has(d->collective, TRAIT_PAIR) && d->root == d->comm->rank)
		return error_set(CHOIR_UNSUPPORTED, "%s: rank %d gives itself a message: its send and its recv are one",
		                 d->call, d->root);
	TRY(dense_plan_foresee(d, call, true, &f.in, &f.algorithm));
	if (collective_has(d->collective, TRAIT_REDUCES) && d->op == CHOIR_OP_LOCAL)
		f.algorithm = NULL;
	if (f.algorithm != NULL && d->comm->n > 1)
		TRY(plan_case_check_pieces(d->call, &f.in));
	f.far = dev_has_far_memory(d->comm->device);
	f.crosses = f.far && !stays(&f);
	*algorithm_p = f.algorithm != NULL ? f.algorithm->name : "local";
	return seconds_of(&f, seconds_p);
}

choir_status forecast_dense(struct dense *d, const choir_call *call, double *seconds_p, const char **algorithm_p)
{
	struct user_op *user = NULL;
	choir_status st;

	if (collective_has(d->collective, TRAIT_REDUCES) && user_op_is(d->op))
		TRY(user_op_find(d->call, d->op, &user));
	d->user = user;
	st = foresee(d, call, seconds_p, algorithm_p);
	user_op_release(user);
	return st;
}
