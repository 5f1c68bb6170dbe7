/* SPDX-License-Identifier: MIT */
/* Broadcast and reduce along a tree of pattern_tree.h over all ranks, node after node, rooted at the root; in pieces of
 * at most message_bytes that follow each other. */
#ifndef ALGO_TREE_H
#define ALGO_TREE_H

#include "algo/algo.h"

choir_status tree_broadcast(const struct algo_in *in, struct plan *plan, int radix);
choir_status tree_reduce(const struct algo_in *in, struct plan *plan, int radix);

#endif
