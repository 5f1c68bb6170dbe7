/* SPDX-License-Identifier: MIT */
/* reduce for long vectors: a reduce-scatter among all ranks, whose owners then send their blocks to the root.
 *
 * 2 rounds of n - 1 messages for each 8 message_bytes; several of these in flight.  A rank sends all the
 * bytes once, where up a tree inner ranks send them once but receive them log2(n) times; the root receives 2(n-1)/n of
 * them.  Any n > 1, any layout. exchange_pairwise.c says how.  After Rabenseifner, "Optimization of collective
 * reduction operations", ICCS 2004. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status reduce_scatter_gather(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_pairwise);
}
