/* SPDX-License-Identifier: MIT */
/* A ring both ways over all ranks, node after node, that meet at each block's owner.
 *
 * Any n > 1, any layout.  exchange_meet_in_middle_ring.c says how, and what it costs. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_meet_in_middle_ring(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_meet_in_middle_ring);
}
