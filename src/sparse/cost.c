/* SPDX-License-Identifier: MIT */
#include "sparse/cost.h"

#include "base/dtype.h"

static double power(double x, int n)
{
	double result = 1;

	for (; n > 0; n /= 2) {
		result *= n % 2 == 1 ? x : 1;
		x *= x;
	}
	return result;
}

/* Distinct indices of so many lists of that length, spread evenly over span indices. */
static double union_of(double each, double span, int lists)
{
	double most = each * lists, guess = span * (1 - power(1 - (each < span ? each / span : 1), lists));

	guess = guess < each && each < span ? each : guess;
	return guess < most ? guess : most;
}

double cost_union(const struct cost *cost, int ranks)
{
	return union_of(cost->pairs / cost->n, cost->span, ranks);
}

void cost_cut(struct cost *cost, const uint64_t *bounds)
{
	double least = cost->pairs, sum = 0;

	for (int r = 0; r < cost->n; r++) {
		double region = union_of(cost->pairs / cost->n / cost->n, (double)(bounds[r + 1] - bounds[r]), cost->n);

		least = region < least ? region : least;
		sum += region;
	}
	if (sum > 0)
		cost->gathers = 1 - least / sum;
}

double cost_gathered(const struct cost *cost)
{
	return cost->pairs - cost->least;
}

double cost_scattered(const struct cost *cost)
{
	double out = cost->share * cost->heavy, in = (cost->pairs - cost->least) / cost->n;

	return out > in ? out : in;
}

/* Integers and bools wrap alike in any grouping; of floats, only min and max do not round. */
static bool is_exact(choir_dtype dtype, choir_op op)
{
	return (!dtype_is_float(dtype) && !user_op_is(op)) || op == CHOIR_OP_MIN || op == CHOIR_OP_MAX;
}

static int log2_up(int n)
{
	int rounds = 0;

	while (1 << rounds < n)
		rounds++;
	return rounds;
}

struct cost cost_of(const struct sparse_facts *facts, const struct layout *layout, choir_dtype dtype, choir_op op)
{
	enum link_class link = facts->shared ? LINK_SHARED : layout->n_nodes == 1 ? LINK_NODE : LINK_NETWORK;
	struct cost cost = { .link = link,
		             .sharers = layout->n_nodes > 1 ? layout->max_node_size : 1,
		             .n = layout->n,
		             .rounds = log2_up(layout->n),
		             .share = 1 - 1.0 / layout->n,
		             .pairs = (double)facts->pairs,
		             .most = (double)facts->most,
		             .least = (double)facts->least,
		             .row = (double)(facts->width * choir_dtype_bytes(dtype)),
		             .index = index_form_of(facts->range).bytes,
		             .span = (double)facts->range.hi - (double)facts->range.lo + 1,
		             .exact = is_exact(dtype, op) };

	cost.gathers = cost.share;
	cost.heavy = cost.most < cost.pairs / cost.sharers ? cost.most : cost.pairs / cost.sharers;
	cost.distinct = facts->growth > 0 ? facts->growth * cost.pairs / cost.n : cost_union(&cost, cost.n);
	cost.distinct = cost.distinct > cost.span ? cost.span : cost.distinct;
	cost.distinct = cost.distinct > cost.pairs ? cost.pairs : cost.distinct;
	if (!facts->raw && cost.distinct < cost.most)
		cost.distinct = cost.most;
	return cost;
}

double cost_ns(const struct cost *cost, const struct link_costs *costs, const struct work *work)
{
	const float *ns = costs->ns[cost->link];

	return work->messages * ns[COST_ALPHA] + work->received * cost->sharers * ns[COST_BETA] +
	       work->copied * ns[COST_SIGMA] + work->merged * ns[COST_MERGE] + work->folded * ns[COST_FOLD];
}
