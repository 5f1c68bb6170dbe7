/* SPDX-License-Identifier: MIT */
/* The built-in rules between nodes. */
#ifndef ALGO_DEFAULT_NETWORK_H
#define ALGO_DEFAULT_NETWORK_H

#include "algo/algo.h"

/* default_network: the algorithm with the least estimated time among those that can run; NULL if there is none, or one
 * node. */
const struct algorithm *default_network(const struct algo_in *in);

#endif
