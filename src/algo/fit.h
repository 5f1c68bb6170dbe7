/* SPDX-License-Identifier: MIT */
/* Why an algorithm cannot run: the constant texts of `unfit`, NULL where it can. */
#ifndef ALGO_FIT_H
#define ALGO_FIT_H

#include "algo/algo.h"

const char *fit_single(const struct algo_in *in);  /* one rank */
const char *fit_node(const struct algo_in *in);    /* all ranks on one node, and more than one */
const char *fit_network(const struct algo_in *in); /* more than one rank, anywhere */
const char *fit_nodes(const struct algo_in *in);   /* more than one node */
const char *fit_any(const struct algo_in *in);
const char *fit_phases(uint64_t phases);

#endif
