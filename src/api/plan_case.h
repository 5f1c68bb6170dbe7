/* SPDX-License-Identifier: MIT */
/* A collective on paper: choir_plan_options checked, with the layout and the algorithm, from which each rank's plan is
 * built. */
#ifndef API_PLAN_CASE_H
#define API_PLAN_CASE_H

#include "algo/rules.h"
#include "plan/plan_team.h"

#include <choir/plan.h>

struct plan_case {
	choir_plan_options options;
	enum collective collective;
	uint64_t elem_bytes;
	struct layout layout;
	struct rules rules;
	uint64_t *blocks;                  /* of the v collectives */
	const struct algorithm *algorithm; /* NULL until plan_case_choose; send and recv: the sender's */
};

/* plan_case_init: ARGUMENT naming the option; plan_case_fini after success only. */
choir_status plan_case_init(const char *call, const choir_plan_options *options, struct plan_case *out);
void plan_case_fini(struct plan_case *c);

/* plan_case_choose: the algorithm that is named, else the rules'; UNSUPPORTED if it cannot do the call. */
choir_status plan_case_choose(const char *call, struct plan_case *c);

/* plan_case_check_pieces: UNSUPPORTED for a call of so many bytes that its plan would have millions of steps. */
choir_status plan_case_check_pieces(const char *call, const struct algo_in *in);

/* plan_case_in: rank's input.  plan_case_build: its plan, which the caller finishes with plan_fini, also after a
 * failure. */
struct algo_in plan_case_in(const struct plan_case *c, int rank);
choir_status plan_case_build(const struct plan_case *c, int rank, struct plan *plan);

/* All ranks at once. */
struct plan_case_team {
	int n;
	struct algo_in *ins;
	struct plan *plans;
	struct plan_rank *ranks;
	struct plan_team team;
};

/* plan_case_team_init: that rank's plan, or those of CHOIR_PLAN_ALL_RANKS, of which there may be most_steps steps
 * (UNSUPPORTED); the others are empty.  plan_case_team_fini in either case. */
choir_status plan_case_team_init(const struct plan_case *c, int rank, uint64_t most_steps, struct plan_case_team *out);
void plan_case_team_fini(struct plan_case_team *team);

#endif
