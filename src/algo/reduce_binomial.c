/* SPDX-License-Identifier: MIT */
/* reduce up a binomial tree.
 *
 * log2(n) rounds of all bytes, in pieces of at most message_bytes that follow each other up the tree.  Any n > 1. */
#include "algo/build.h"
#include "algo/tree.h"

choir_status reduce_binomial(const struct algo_in *in, struct plan *plan)
{
	return tree_reduce(in, plan, 2);
}
