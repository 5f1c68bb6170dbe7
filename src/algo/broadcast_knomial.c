/* SPDX-License-Identifier: MIT */
/* broadcast down a tree of radix 4: fewer levels than a binomial tree, three sends a level: short messages.
 *
 * log4(n) rounds (rounded up), in pieces of at most message_bytes.  A rank sends all bytes three times a level at most.
 * Any n > 1. */
#include "algo/build.h"
#include "algo/tree.h"

choir_status broadcast_knomial(const struct algo_in *in, struct plan *plan)
{
	return tree_broadcast(in, plan, 4);
}
