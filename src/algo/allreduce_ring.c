/* SPDX-License-Identifier: MIT */
/* Ring over all ranks, node after node, so that each node boundary is crossed once: bandwidth.
 *
 * Rounds 2(n-1) for each n * message_bytes; several of these in flight.  2(n-1)/n of the bytes sent by each
 * rank.  Any n > 1, any layout. exchange_ring.c says how. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_ring(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_ring);
}
