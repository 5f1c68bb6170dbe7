/* SPDX-License-Identifier: MIT */
/* broadcast along a chain, node after node: each rank passes on each piece as it arrives.  For long messages.
 *
 * n - 1 rounds, but pieces of at most message_bytes follow each other, so bytes + (n-2) pieces of time; a rank sends
 * all bytes once.  Any n > 1. */
#include "algo/build.h"
#include "algo/tree.h"

choir_status broadcast_chain(const struct algo_in *in, struct plan *plan)
{
	return tree_broadcast(in, plan, 1);
}
