/* SPDX-License-Identifier: MIT */
/* allreduce in shared buffers, short: each rank reduces all SENDs for itself, straight into its RECV.
 *
 * Two waits, as the direct algorithm has.  A rank reads n vectors and writes one, where direct reads one and writes one
 * in all; but no rank writes to a cache line of another core, which costs most, and the result is in the cache of the
 * core that uses it.  Two ranks on one node; both fold in rank order.  In place, RECV cannot be written while peers
 * read it: then all ranks take the plan of direct (plan->alike). */
#include "algo/build.h"
#include "algo/direct.h"

const char *direct_oneshot_unfit(const struct algo_in *in)
{
	return in->layout->n > 2 ? "is for two ranks" : direct_unfit(in);
}

choir_status allreduce_direct_oneshot(const struct algo_in *in, struct plan *plan)
{
	plan->alike = true;
	if (in->in_place || in->lists)
		return allreduce_direct(in, plan);
	if (in->bytes == 0)
		return plan_finish(plan);
	direct_sources(in, plan, 0);
	plan_reduce(plan, plan_at(PLAN_RECV, 0), NULL, 0, PLAN_RAW_ALL, true, in->bytes, NULL, 0, "reduce all");
	return direct_end(in, plan, true);
}
