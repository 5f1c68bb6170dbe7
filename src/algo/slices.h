/* SPDX-License-Identifier: MIT */
/* A reduction through the arena by slices, with or without an exchange between nodes: see Note [slices] in slices.c. */
#ifndef ALGO_SLICES_H
#define ALGO_SLICES_H

#include "algo/exchange.h"

/* slices_build: kind: the exchange between nodes; NULL = all ranks are on one node.  root -1: every rank gets the
 * result, else only the root, and the ranks of its node reduce for it.  slices_unfit: NULL if it fits the slots. */
choir_status slices_build(const struct algo_in *in, struct plan *plan, const struct exchange_kind *kind, int root);
const char *slices_unfit(const struct algo_in *in, const struct exchange_kind *kind);

#endif
