/* SPDX-License-Identifier: MIT */
/* The ring the other way round, over all ranks, node after node: bandwidth.
 *
 * Any n > 1, any layout.  exchange_anticlockwise_ring.c says how, and what it costs. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_anticlockwise_ring(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_anticlockwise_ring);
}
