/* SPDX-License-Identifier: MIT */
/* One-shot: each rank copies its input to its slot; a rank that needs the result waits for all and reduces all n inputs
 * in rank order. */
#ifndef ALGO_ONESHOT_H
#define ALGO_ONESHOT_H

#include "algo/algo.h"

/* oneshot_build: root -1: every rank reduces for itself; else the root only, and the others are done after the copy.
 * oneshot_unfit: NULL if the input fits a slot and all ranks are on one node. */
choir_status oneshot_build(const struct algo_in *in, struct plan *plan, int root);
const char *oneshot_unfit(const struct algo_in *in);

#endif
