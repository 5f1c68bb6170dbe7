/* SPDX-License-Identifier: MIT */
/* Finds accesses to the same bytes that no dep, message or flag orders. */
#ifndef PLAN_PLAN_RACES_H
#define PLAN_PLAN_RACES_H

#include "plan/plan_graph.h"

/* plan_races_check: MISMATCH if two steps can access the same bytes at once and one writes, or if a rank can be done
 * while a peer still accesses its buffers; UNSUPPORTED for more than PLAN_CHECK_MOST_STEPS steps; NO_MEMORY. */
choir_status plan_races_check(const struct plan_team *team, const struct plan_graph *graph);

#endif
