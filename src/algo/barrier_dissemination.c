/* SPDX-License-Identifier: MIT */
/* Dissemination barrier: in round r a rank sends to the rank 2^r after it and receives from the one 2^r before it.
 *
 * ceil(log2(n)) rounds, as many empty messages a rank.  Any n > 1.  Hensgen, Finkel & Manber, "Two algorithms for
 * barrier synchronization", IJPP 17, 1988. */
#include "algo/build.h"
#include "algo/group.h"

choir_status barrier_dissemination(const struct algo_in *in, struct plan *plan)
{
	struct group group = group_all(in);
	struct plan_ref nothing = plan_at(PLAN_SCRATCH, 0);
	plan_id heard = PLAN_NO_STEP;
	int64_t n = group.n;
	uint32_t round = 0;

	for (int64_t distance = 1; distance < n; distance *= 2, round++) {
		int to = group_rank(&group, (int)((group.me + distance) % n)),
		    from = group_rank(&group, (int)((group.me + n - distance) % n));

		plan_send(plan, to, round, nothing, 0, &heard, 1, "here");
		heard = plan_recv(plan, from, round, nothing, 0, &heard, 1, "heard");
	}
	return plan_finish(plan);
}
