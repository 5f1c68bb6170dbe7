/* SPDX-License-Identifier: MIT */
/* Every rank sends its whole input to all others, and each reduces all: short.
 *
 * Any n > 1, any layout.  exchange_broadcast.c says how, and what it costs. */
#include "algo/build.h"
#include "algo/exchange.h"

choir_status allreduce_broadcast(const struct algo_in *in, struct plan *plan)
{
	return exchange_chain(in, plan, &exchange_broadcast);
}
