/* SPDX-License-Identifier: MIT */
/* The builders of the table in algo.c.  The file of each describes it. */
#ifndef ALGO_BUILD_H
#define ALGO_BUILD_H

#include "algo/algo.h"

choir_status single_reduce(const struct algo_in *in, struct plan *plan);
choir_status single_prefix(const struct algo_in *in, struct plan *plan);
choir_status single_copy(const struct algo_in *in, struct plan *plan);
choir_status single_nothing(const struct algo_in *in, struct plan *plan);

choir_status allreduce_oneshot(const struct algo_in *in, struct plan *plan);
choir_status allreduce_twoshot(const struct algo_in *in, struct plan *plan);
const char *allreduce_twoshot_unfit(const struct algo_in *in);
choir_status allreduce_ring(const struct algo_in *in, struct plan *plan);
choir_status allreduce_recursive_doubling(const struct algo_in *in, struct plan *plan);
choir_status allreduce_halving_doubling(const struct algo_in *in, struct plan *plan);
choir_status allreduce_pairwise(const struct algo_in *in, struct plan *plan);
choir_status allreduce_bidirectional_ring(const struct algo_in *in, struct plan *plan);
choir_status allreduce_anticlockwise_ring(const struct algo_in *in, struct plan *plan);
choir_status allreduce_meet_in_middle_ring(const struct algo_in *in, struct plan *plan);
choir_status allreduce_quad_directional_ring(const struct algo_in *in, struct plan *plan);
choir_status allreduce_broadcast(const struct algo_in *in, struct plan *plan);
choir_status allreduce_hier_ring(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_ring_unfit(const struct algo_in *in);
choir_status allreduce_hier_rd(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_rd_unfit(const struct algo_in *in);
choir_status allreduce_hier_halving_doubling(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_halving_doubling_unfit(const struct algo_in *in);
choir_status allreduce_hier_pairwise(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_pairwise_unfit(const struct algo_in *in);
choir_status allreduce_hier_bidirectional(const struct algo_in *in, struct plan *plan);
const char *allreduce_hier_bidirectional_unfit(const struct algo_in *in);

choir_status allreduce_direct(const struct algo_in *in, struct plan *plan);
choir_status allreduce_direct_oneshot(const struct algo_in *in, struct plan *plan);
const char *direct_oneshot_unfit(const struct algo_in *in);
choir_status reduce_scatter_direct(const struct algo_in *in, struct plan *plan);
choir_status allgather_direct(const struct algo_in *in, struct plan *plan);
choir_status alltoall_direct(const struct algo_in *in, struct plan *plan);
choir_status broadcast_direct(const struct algo_in *in, struct plan *plan);
choir_status reduce_direct(const struct algo_in *in, struct plan *plan);

choir_status reduce_device(const struct algo_in *in, struct plan *plan); /* and allreduce */
choir_status reduce_scatter_device(const struct algo_in *in, struct plan *plan);
choir_status allgather_device(const struct algo_in *in, struct plan *plan);
choir_status alltoall_device(const struct algo_in *in, struct plan *plan);
choir_status broadcast_device(const struct algo_in *in, struct plan *plan);
choir_status rooted_device(const struct algo_in *in, struct plan *plan); /* gather(v) and scatter */
choir_status prefix_device(const struct algo_in *in, struct plan *plan);

choir_status reduce_scatter_slots(const struct algo_in *in, struct plan *plan);
const char *reduce_scatter_slots_unfit(const struct algo_in *in);
choir_status reduce_scatter_ring(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_anticlockwise_ring(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_bidirectional_ring(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_meet_in_middle_ring(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_quad_directional_ring(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_pairwise(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_recursive_halving(const struct algo_in *in, struct plan *plan);
const char *reduce_scatter_recursive_halving_unfit(const struct algo_in *in);

choir_status allgather_slots(const struct algo_in *in, struct plan *plan);
const char *allgather_slots_unfit(const struct algo_in *in);
choir_status allgather_ring(const struct algo_in *in, struct plan *plan);
choir_status allgather_anticlockwise_ring(const struct algo_in *in, struct plan *plan);
choir_status allgather_bidirectional_ring(const struct algo_in *in, struct plan *plan);
choir_status allgather_meet_in_middle_ring(const struct algo_in *in, struct plan *plan);
choir_status allgather_quad_directional_ring(const struct algo_in *in, struct plan *plan);
choir_status allgather_broadcast(const struct algo_in *in, struct plan *plan);
choir_status allgather_bruck(const struct algo_in *in, struct plan *plan);
const char *allgather_bruck_unfit(const struct algo_in *in);
choir_status allgather_recursive_doubling(const struct algo_in *in, struct plan *plan);
const char *allgather_recursive_doubling_unfit(const struct algo_in *in);

choir_status alltoall_slots(const struct algo_in *in, struct plan *plan);
const char *alltoall_slots_unfit(const struct algo_in *in);
choir_status alltoall_pairwise(const struct algo_in *in, struct plan *plan);
choir_status alltoall_bruck(const struct algo_in *in, struct plan *plan);
const char *alltoall_bruck_unfit(const struct algo_in *in);

choir_status broadcast_slots(const struct algo_in *in, struct plan *plan);
const char *broadcast_slots_unfit(const struct algo_in *in);
choir_status broadcast_binomial(const struct algo_in *in, struct plan *plan);
choir_status broadcast_knomial(const struct algo_in *in, struct plan *plan);
choir_status broadcast_scatter_allgather(const struct algo_in *in, struct plan *plan);
choir_status broadcast_chain(const struct algo_in *in, struct plan *plan);

choir_status reduce_oneshot(const struct algo_in *in, struct plan *plan);
choir_status reduce_slots(const struct algo_in *in, struct plan *plan);
const char *reduce_slots_unfit(const struct algo_in *in);
choir_status reduce_binomial(const struct algo_in *in, struct plan *plan);
choir_status reduce_knomial(const struct algo_in *in, struct plan *plan);
choir_status reduce_scatter_gather(const struct algo_in *in, struct plan *plan);
choir_status reduce_chain(const struct algo_in *in, struct plan *plan);
choir_status rank_chain(const struct algo_in *in, struct plan *plan);

choir_status rooted_binomial(const struct algo_in *in, struct plan *plan);
const char *rooted_binomial_unfit(const struct algo_in *in);
choir_status rooted_direct(const struct algo_in *in, struct plan *plan);
choir_status prefix_direct(const struct algo_in *in, struct plan *plan);
choir_status prefix_slots(const struct algo_in *in, struct plan *plan);
const char *prefix_slots_unfit(const struct algo_in *in);
choir_status prefix_chain(const struct algo_in *in, struct plan *plan);
choir_status prefix_pairwise(const struct algo_in *in, struct plan *plan);

choir_status barrier_flags(const struct algo_in *in, struct plan *plan);
choir_status barrier_dissemination(const struct algo_in *in, struct plan *plan);

choir_status p2p_send(const struct algo_in *in, struct plan *plan);
choir_status p2p_recv(const struct algo_in *in, struct plan *plan);

#endif
