/* SPDX-License-Identifier: MIT */
/* The graph of the steps of all ranks.  Its edges are deps, messages (from a send to its receive) and flags (from a
 * PUBLISH to the AWAIT of its phase). */
#ifndef PLAN_PLAN_GRAPH_H
#define PLAN_PLAN_GRAPH_H

#include "plan/plan_team.h"

struct plan_graph {
	uint32_t n;                   /* steps of all ranks; those of rank r begin at base[r] */
	uint32_t *base;               /* [ranks + 1] */
	int *rank_of;                 /* [n] */
	uint32_t *pred_first, *preds; /* compressed rows, as in plan.h */
	uint32_t *succ_first, *succs;
	uint32_t *order, *position; /* a topological order, and the position of each step in it */
	uint32_t *partner;          /* of a receive: its send */
};

/* plan_graph_build: MISMATCH for a send or receive without the other, different lengths, a tag used twice, a phase that
 * no step publishes, or a cycle; NO_MEMORY; UNSUPPORTED (PLAN_CHECK_MOST_EDGES).  The caller has checked each step's
 * members before, and calls plan_graph_free also after an error. */
choir_status plan_graph_build(const struct plan_team *team, struct plan_graph *graph);
void plan_graph_free(struct plan_graph *graph);

/* plan_graph_dump_dot: writes all ranks as one Graphviz graph; between ranks messages are blue edges and flags dotted
 * ones.  The errors of plan_graph_build. */
choir_status plan_graph_dump_dot(const struct plan_team *team, FILE *out);

static inline const struct plan_step *plan_graph_step(const struct plan_team *team, const struct plan_graph *graph,
                                                      uint32_t id)
{
	int rank = graph->rank_of[id];

	return &team->ranks[rank].plan->steps[id - graph->base[rank]];
}

#endif
