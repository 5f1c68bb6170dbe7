/* SPDX-License-Identifier: MIT */
/* The cost model: predicts the time of the plans of all ranks by simulating them with given latencies and rates. */
#ifndef PLAN_PLAN_COST_H
#define PLAN_PLAN_COST_H

#include "plan/plan.h"

/* A link between two ranks.  A message costs both ranks overhead_s and `copies` copies of its bytes.  It occupies the
 * sender's outgoing link for bytes / bytes_per_s, and from latency_s later the receiver's incoming link for the same
 * time.  The ranks of a node share its links to the `network`; each rank has an outgoing link in its `node`. */
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
	double slot_bytes_per_s;   /* one rank, besides: bytes written to its slot, whose lines its peers' cores have */
	double flag_s;             /* from a PUBLISH until the ranks of the node see it */
	double step_s;             /* the engine's own time, for each step that is not empty */
};

extern const struct plan_costs plan_costs_default;

struct plan_forecast {
	double seconds; /* until the last rank is done */
	uint64_t steps, messages, network_messages, network_bytes;
};

/* plan_costs_check: ARGUMENT, naming the value, unless times are 0 or more, rates above 0, and all finite. */
choir_status plan_costs_check(const struct plan_costs *costs);

/* plan_cost_create: a simulation of n ranks on the nodes node_of[rank], 0 <= node < n.
 * plan_cost_add: adds rank's plan; it keeps a copy of what it needs.  UNSUPPORTED for more than PLAN_COST_MOST_STEPS
 * steps in all.
 * plan_cost_run: runs the simulation once, when all ranks were added; finish_s (NULL or [n]): the time when each rank
 * was done.  MISMATCH if a rank waits for ever.  About a second for a million steps.
 * All: NO_MEMORY. */
#define PLAN_COST_MOST_STEPS (1u << 25)
struct plan_cost;
choir_status plan_cost_create(int n, const int *node_of, const struct plan_costs *costs, struct plan_cost **out_p);
choir_status plan_cost_add(struct plan_cost *cost, int rank, const struct plan *plan);
choir_status plan_cost_run(struct plan_cost *cost, struct plan_forecast *out, double *finish_s);
void plan_cost_destroy(struct plan_cost *cost);

#endif
