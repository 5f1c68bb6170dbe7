/* SPDX-License-Identifier: MIT */
/* The cost model: how long the plans of all ranks would take, by playing them through with given latencies and rates
 * instead of memory and network.  As good on 1000 nodes as on two. */
#ifndef PLAN_PLAN_COST_H
#define PLAN_PLAN_COST_H

#include "plan/plan.h"

/* Between two ranks.  A message costs each end overhead_s and `copies` times a copy of its bytes; then it occupies the
 * way out of the sender for bytes / bytes_per_s, and latency_s later the way into the receiver as long; both go on at
 * once.  The ways of `network` belong to the node, and all its ranks share them; those of `node` belong to the sending
 * rank. */
struct plan_link {
	double latency_s;
	double bytes_per_s;
	double overhead_s;
	double copies;
};

struct plan_costs {
	struct plan_link network;  /* ranks of different nodes */
	struct plan_link node;     /* ranks of one node */
	double copy_bytes_per_s;   /* one rank, bytes copied */
	double reduce_bytes_per_s; /* one rank, bytes of all sources */
	double flag_s;             /* from a PUBLISH until the node's ranks see it */
	double step_s;             /* the engine's own, for each step that does something */
};

extern const struct plan_costs plan_costs_default;

struct plan_forecast {
	double seconds; /* until the last rank is done */
	uint64_t steps, messages, network_messages, network_bytes;
};

/* plan_costs_check: ARGUMENT, naming the value, unless times are 0 or more, rates above 0, and all finite. */
choir_status plan_costs_check(const struct plan_costs *costs);

/* plan_cost_create: for n ranks on the nodes node_of[rank], 0 <= node < n.
 * plan_cost_add: rank's plan, from which it takes what it needs: the plan may go.  UNSUPPORTED beyond
 * PLAN_COST_MOST_STEPS steps in all.
 * plan_cost_run: once, after all ranks were added; finish_s (NULL or [n]) gets when each rank was done.  MISMATCH if a
 * rank waits for ever.
 * All: NO_MEMORY.  They compute for about a second per million steps. */
#define PLAN_COST_MOST_STEPS (1u << 25)
struct plan_cost;
choir_status plan_cost_create(int n, const int *node_of, const struct plan_costs *costs, struct plan_cost **out_p);
choir_status plan_cost_add(struct plan_cost *cost, int rank, const struct plan *plan);
choir_status plan_cost_run(struct plan_cost *cost, struct plan_forecast *out, double *finish_s);
void plan_cost_destroy(struct plan_cost *cost);

#endif
