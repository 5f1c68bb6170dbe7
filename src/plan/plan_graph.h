/* SPDX-License-Identifier: MIT */
/* The order that the steps of all ranks force on each other: by deps, by messages (a receive is after its send), by
 * flags (an AWAIT is after the PUBLISH it waits for). */
#ifndef PLAN_PLAN_GRAPH_H
#define PLAN_PLAN_GRAPH_H

#include "plan/plan_team.h"

struct plan_graph {
	uint32_t n;                    /* steps of all ranks; rank r's begin at base[r] */
	uint32_t *base;                /* [ranks + 1] */
	int *rank_of;                  /* [n] */
	uint32_t *pred_first, *preds;  /* compressed rows, as in plan.h */
	uint32_t *succ_first, *succs;
	uint32_t *order, *place;       /* a topological order, and each step's place in it */
	uint32_t *partner;             /* of a receive: its send */
};

/* plan_graph_build: MISMATCH for a message without its partner or of another length, a tag used twice, a phase that
 * nobody publishes, a cycle; NO_MEMORY.  The steps' shape must have been checked.  plan_graph_free in either case. */
choir_status plan_graph_build(const struct plan_team *team, struct plan_graph *graph);
void plan_graph_free(struct plan_graph *graph);

/* plan_graph_dump_dot: all ranks as one Graphviz graph, with edges from rank to rank: messages in blue, flags dotted.
 * The errors of plan_graph_build. */
choir_status plan_graph_dump_dot(const struct plan_team *team, FILE *out);

static inline const struct plan_step *plan_graph_step(const struct plan_team *team, const struct plan_graph *graph,
                                                      uint32_t id)
{
	int rank = graph->rank_of[id];

	return &team->ranks[rank].plan->steps[id - graph->base[rank]];
}

#endif
