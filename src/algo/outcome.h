/* SPDX-License-Identifier: MIT */
/* The meaning of a call, apart from any algorithm: the bytes of its buffers, and the wanted value of each element of
 * RECV.  For the plan checker. */
#ifndef ALGO_OUTCOME_H
#define ALGO_OUTCOME_H

#include "algo/algo.h"
#include "plan/plan_check.h"

/* outcome_rank: one rank of a team, with this plan for this call. */
struct plan_rank outcome_rank(const struct algo_in *in, const struct plan *plan);

/* outcome_wants: the results, from the inputs of all ranks, which must outlive it. */
struct plan_wants outcome_wants(const struct algo_in *ins);

#endif
