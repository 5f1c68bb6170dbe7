/* SPDX-License-Identifier: MIT */
/* Pairwise over all ranks: two rounds, all bandwidth, one rounding.
 *
 * 2 rounds of n - 1 messages for each 8 message_bytes; several of these in flight.  2(n-1)/n of the bytes
 * sent by each rank.  Any n > 1, any layout.  exchange_pairwise.c says how. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_pairwise(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_pairwise);
}
