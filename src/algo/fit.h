/* SPDX-License-Identifier: MIT */
/* Common conditions of algorithms, for `unfit`: NULL where the condition holds, else a constant text. */
#ifndef ALGO_FIT_H
#define ALGO_FIT_H

#include "algo/algo.h"

const char *fit_single(const struct algo_in *in);  /* one rank */
const char *fit_node(const struct algo_in *in);    /* all ranks on one node, and more than one */
const char *fit_network(const struct algo_in *in); /* more than one rank, anywhere */
const char *fit_nodes(const struct algo_in *in);   /* more than one node */
const char *fit_any(const struct algo_in *in);
const char *fit_phases(uint64_t phases); /* no more phases than a lane's flag can hold */

#endif
