/* SPDX-License-Identifier: MIT */
/* Two rings over all ranks, node after node, one in each direction.
 *
 * Rounds 2(n-1) for each 2 n * message_bytes; several of these in flight.  2(n-1)/n of the bytes sent by
 * each rank.  Any n > 1, any layout.  exchange_rings.c says how. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_bidirectional_ring(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, ring_is_one_link(in) ? &exchange_ring : &exchange_bidirectional_ring);
}
