/* SPDX-License-Identifier: MIT */
/* broadcast down a binomial tree.
 *
 * log2(n) rounds of all bytes, in pieces of at most message_bytes that follow each other down the tree.  Any n > 1. */
#include "algo/build.h"
#include "algo/tree.h"

choir_status broadcast_binomial(const struct algo_in *in, struct plan *plan)
{
	return tree_broadcast(in, plan, 2);
}
