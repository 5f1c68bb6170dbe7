/* SPDX-License-Identifier: MIT */
/* The meaning of a call, independent of algorithms, for the plan checker: the sizes of its buffers, and the wanted
 * value of each element of RECV. */
#ifndef ALGO_OUTCOME_H
#define ALGO_OUTCOME_H

#include "algo/algo.h"
#include "plan/plan_check.h"

/* outcome_rank: the plan_rank of a team for this plan and call. */
struct plan_rank outcome_rank(const struct algo_in *in, const struct plan *plan);

/* outcome_wants: the wanted results for the inputs of all ranks, which must outlive it, folded in that order. */
struct plan_wants outcome_wants(const struct algo_in *ins, enum plan_order order);

#endif
