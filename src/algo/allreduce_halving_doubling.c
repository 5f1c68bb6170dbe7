/* SPDX-License-Identifier: MIT */
/* Halving and doubling over all ranks, whatever their nodes: latency and bandwidth both good.
 *
 * 2 log2(n) rounds, two more if n is no power of two; twice the bytes sent by each rank at most.
 * Any n > 1, any layout.  exchange_halving_doubling.c says how. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_halving_doubling(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_halving_doubling);
}
