/* SPDX-License-Identifier: MIT */
/* One-shot reduce: each rank puts its input into its slot; the root waits for all and reduces all n inputs in rank
 * order.
 *
 * One wait, on the root only: the others are done after their copy.  The root reads n inputs.  All ranks on one node,
 * input no longer than a slot. */
#include "algo/build.h"
#include "algo/oneshot.h"

choir_status reduce_oneshot(const struct algo_in *in, struct plan *plan)
{
	return oneshot_build(in, plan, in->root);
}
