/* SPDX-License-Identifier: MIT */
#include "sparse/cost.h"

/* Link classes.  A node: measured with ranks that read each other's memory, or pass chunks through slots that stay in the cache.  A network: TCP at 1 Gb/s, as in
 * the defaults of <choir/plan.h>. */
struct link_class {
	double alpha, beta;
};
static const struct link_class shared_memory = { 8000, 0.15 }, node_slots = { 12000, 0.45 }, network = { 60000, 8.5 };

#define MERGE_NS      6.0  /* find a pair's place */
#define MERGE_BYTE_NS 0.15 /* and fold its row */
#define COPY_BYTE_NS  0.2

static double power(double x, int n)
{
	double result = 1;

	for (; n > 0; n /= 2) {
		result *= n % 2 == 1 ? x : 1;
		x *= x;
	}
	return result;
}

double cost_union(const struct cost *cost, int ranks)
{
	double each = cost->pairs / cost->n, most = each * ranks, guess;

	guess = cost->span * (1 - power(1 - (each < cost->span ? each / cost->span : 1), ranks));
	guess = guess < each ? each : guess;
	return guess < most ? guess : most;
}

/* Integers and bools wrap alike in any grouping; of floats, only min and max do not round. */
static bool is_exact(choir_dtype dtype, choir_op op)
{
	bool is_float = dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F32 || dtype == CHOIR_F64;

	return !is_float || op == CHOIR_OP_MIN || op == CHOIR_OP_MAX;
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
	struct link_class link = facts->shared ? shared_memory : layout->n_nodes == 1 ? node_slots : network;
	struct cost cost = { .n = layout->n, .rounds = log2_up(layout->n), .share = 1 - 1.0 / layout->n, .alpha = link.alpha, .beta = link.beta,
			     .copy = COPY_BYTE_NS, .pairs = (double)facts->pairs, .most = (double)facts->most,
			     .row = (double)(facts->width * choir_dtype_bytes(dtype)), .index = index_form_of(facts->range).bytes,
			     .span = (double)facts->range.hi - (double)facts->range.lo + 1, .exact = is_exact(dtype, op) };

	/* The ranks of a node share its way out. */
	if (layout->n_nodes > 1)
		cost.beta *= layout->max_node_size;
	cost.merge = MERGE_NS + cost.row * MERGE_BYTE_NS;
	cost.distinct = cost_union(&cost, cost.n);
	cost.distinct = cost.distinct < cost.most ? cost.most : cost.distinct;
	return cost;
}
