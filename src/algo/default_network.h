/* SPDX-License-Identifier: MIT */
/* The built-in rules between nodes. */
#ifndef ALGO_DEFAULT_NETWORK_H
#define ALGO_DEFAULT_NETWORK_H

#include "algo/algo.h"

/* default_network: of the algorithms that can run the one with the least estimated time; NULL if there is none, or only
 * one node. */
const struct algorithm *default_network(const struct algo_in *in);

#endif
