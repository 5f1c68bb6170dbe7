/* SPDX-License-Identifier: MIT */
/* reduce up a tree of radix 4: fewer levels than a binomial tree, three arrivals a level: short messages.
 *
 * log4(n) rounds (rounded up), in pieces of at most message_bytes.  Any n > 1. */
#include "algo/build.h"
#include "algo/tree.h"

choir_status reduce_knomial(const struct algo_in *in, struct plan *plan)
{
	return tree_reduce(in, plan, 4);
}
