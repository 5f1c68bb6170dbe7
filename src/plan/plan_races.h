/* SPDX-License-Identifier: MIT */
/* Accesses that nothing orders. */
#ifndef PLAN_PLAN_RACES_H
#define PLAN_PLAN_RACES_H

#include "plan/plan_graph.h"

/* plan_races_check: MISMATCH if two steps may touch the same bytes at once and one writes, or if a rank may be done
 * while a peer still touches its buffers; UNSUPPORTED for more than PLAN_CHECK_MOST_STEPS steps; NO_MEMORY. */
choir_status plan_races_check(const struct plan_team *team, const struct plan_graph *graph);

#endif
