/* SPDX-License-Identifier: MIT */
/* The builders, for the table in algo.c.  Each is described at the top of its own file. */
#ifndef ALGO_BUILD_H
#define ALGO_BUILD_H

#include "algo/algo.h"

choir_status single_reduce(const struct algo_in *in, struct plan *plan);
choir_status single_copy(const struct algo_in *in, struct plan *plan);
choir_status single_nothing(const struct algo_in *in, struct plan *plan);

choir_status allreduce_oneshot(const struct algo_in *in, struct plan *plan);
const char *allreduce_oneshot_unfit(const struct algo_in *in);
choir_status allreduce_twoshot(const struct algo_in *in, struct plan *plan);
const char *allreduce_twoshot_unfit(const struct algo_in *in);
choir_status allreduce_ring(const struct algo_in *in, struct plan *plan);
choir_status allreduce_recursive_doubling(const struct algo_in *in, struct plan *plan);
choir_status allreduce_hier_ring(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_ring_unfit(const struct algo_in *in);
choir_status allreduce_hier_rd(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_rd_unfit(const struct algo_in *in);

choir_status p2p_send(const struct algo_in *in, struct plan *plan);
choir_status p2p_recv(const struct algo_in *in, struct plan *plan);

#endif
