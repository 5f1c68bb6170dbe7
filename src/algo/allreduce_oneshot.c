/* SPDX-License-Identifier: MIT */
/* One-shot: each rank puts the whole input into its slot, waits for all, and reduces all n inputs in rank order for
 * itself.
 *
 * One wait; each rank copies the input once and reads it n times.  All ranks on one node, input no longer than a slot.
 * All ranks compute the result, from the same operands in the same order. */
#include "algo/build.h"
#include "algo/oneshot.h"

choir_status allreduce_oneshot(const struct algo_in *in, struct plan *plan)
{
	return oneshot_build(in, plan, -1);
}
