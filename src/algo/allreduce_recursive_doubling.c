/* SPDX-License-Identifier: MIT */
/* Recursive doubling over all ranks, whatever their nodes: latency.
 *
 * log2(n) rounds, two more if n is no power of two; all bytes sent in each.  Any n > 1.  exchange_recursive_doubling.c
 * says how. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_recursive_doubling(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_recursive_doubling);
}
