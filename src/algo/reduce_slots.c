/* SPDX-License-Identifier: MIT */
/* reduce through the arena: each rank reduces its slice of the chunk out of all slots; the root alone gathers.
 *
 * As allreduce's two-shot (Note [slices]), without the gather on the others: the work of reducing is shared, and the
 * bits are those of two-shot.  One node, any length. */
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/slices.h"

const char *reduce_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	return why ? why : slices_unfit(in, NULL);
}

choir_status reduce_slots(const struct algo_in *in, struct plan *plan)
{
	return slices_build(in, plan, NULL, in->root);
}
