/* SPDX-License-Identifier: MIT */
/* Two-shot: each rank reduces its slice of the chunk out of all slots and shares it; the others gather it.
 *
 * Chunks + 1 waits.  A rank writes the input once, reads n slices, writes one and gathers the result: 4 to 5 passes
 * over the bytes for any n, where one-shot has n + 2.  All ranks on one node, any length.  Each slice has one owner,
 * which folds in rank order.  Note [slices] has the order. */
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/slices.h"

const char *allreduce_twoshot_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	return why ? why : slices_unfit(in, NULL);
}

choir_status allreduce_twoshot(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, NULL, -1);
}
