/* SPDX-License-Identifier: MIT */
/* reduce along a chain towards the root, node after node: each rank adds its own and passes on: long messages.
 *
 * n - 1 rounds, but pieces of at most message_bytes follow each other, so bytes + (n-2) pieces of time; a rank sends
 * all bytes once.  Any n > 1. */
#include "algo/build.h"
#include "algo/tree.h"

choir_status reduce_chain(const struct algo_in *in, struct plan *plan)
{
	return tree_reduce(in, plan, 1);
}
