/* SPDX-License-Identifier: MIT */
#include "algo/build.h"
#include "algo/device.h"
#include "algo/direct.h"
#include "algo/fit.h"
#include "algo/oneshot.h"

#include <string.h>

/* An algorithm that folds in that order, and one that promises none. */
#define RANKS(order_, collective_, name_, unfit_, build_, about_)                                                      \
	{                                                                                                              \
		.collective = COLLECTIVE_##collective_, .name = name_, .unfit = unfit_, .build = build_,               \
		.about = about_, .fold_order = PLAN_ORDER_##order_                                                     \
	}
#define ROW(...) RANKS(ANY, __VA_ARGS__)
#define ON_DEVICE(order_, collective_, build_, about_)                                                                 \
	{                                                                                                              \
		.collective = COLLECTIVE_##collective_, .name = "device", .unfit = device_unfit, .build = build_,      \
		.about = about_, .fold_order = PLAN_ORDER_##order_, .on_device = true                                  \
	}

const struct algorithm algorithms[] = {
	RANKS(ONCE, ALLREDUCE, "single", fit_single, single_reduce, "one rank alone"),
	RANKS(ONCE, ALLREDUCE, "direct", direct_unfit, allreduce_direct,
	      "shared memory: each rank reduces a slice for all, one pass"),
	RANKS(ONCE, ALLREDUCE, "direct_oneshot", direct_oneshot_unfit, allreduce_direct_oneshot,
	      "shared memory, two ranks, short: each reduces all"),
	ON_DEVICE(ONCE, ALLREDUCE, reduce_device, "device memory: each rank reduces a slice by a kernel"),
	RANKS(ONCE, ALLREDUCE, "oneshot", oneshot_unfit, allreduce_oneshot,
	      "one node, up to a slot: one wait, each rank reduces all"),
	RANKS(ONCE, ALLREDUCE, "twoshot", allreduce_twoshot_unfit, allreduce_twoshot,
	      "one node, any length: each rank reduces a slice"),
	ROW(ALLREDUCE, "ring", fit_network, allreduce_ring, "network, long: 2(n-1) rounds, 2(n-1)/n of the bytes"),
	ROW(ALLREDUCE, "recursive_doubling", fit_network, allreduce_recursive_doubling,
	    "network, short: log2(n) rounds of all bytes"),
	ROW(ALLREDUCE, "halving_doubling", fit_network, allreduce_halving_doubling,
	    "network, middle: 2 log2(n) rounds, 2(n-1)/n of the bytes"),
	RANKS(ONCE, ALLREDUCE, "pairwise", fit_network, allreduce_pairwise,
	      "network, middle, few ranks: 2 rounds, 2(n-1)/n of the bytes"),
	ROW(ALLREDUCE, "bidirectional_ring", fit_network, allreduce_bidirectional_ring,
	    "network, long, own links: two rings, half of the bytes each"),
	ROW(ALLREDUCE, "anticlockwise_ring", fit_network, allreduce_anticlockwise_ring,
	    "network: the ring the other way round"),
	ROW(ALLREDUCE, "meet_in_middle_ring", fit_network, allreduce_meet_in_middle_ring,
	    "network, own links: both ways half round, n rounds, 2(n-1)/n of the bytes"),
	ROW(ALLREDUCE, "quad_directional_ring", fit_network, allreduce_quad_directional_ring,
	    "network, long, own links: four rings, a quarter of the bytes each"),
	RANKS(ONCE, ALLREDUCE, "broadcast", fit_network, allreduce_broadcast,
	      "network, short: all bytes to all ranks, each reduces all"),
	RANKS(RANKS, ALLREDUCE, "rank_chain", fit_network, rank_chain,
	      "network, long, rank order: pieces summed along all ranks, then back"),
	ROW(ALLREDUCE, "hier_ring", allreduce_hier_ring_unfit, allreduce_hier_ring,
	    "nodes, long: slices by arena, a ring for each"),
	ROW(ALLREDUCE, "hier_rd", allreduce_hier_rd_unfit, allreduce_hier_rd,
	    "nodes, short: slices by arena, recursive doubling"),
	ROW(ALLREDUCE, "hier_halving_doubling", allreduce_hier_halving_doubling_unfit, allreduce_hier_halving_doubling,
	    "nodes, middle: slices by arena, halving-doubling"),
	ROW(ALLREDUCE, "hier_pairwise", allreduce_hier_pairwise_unfit, allreduce_hier_pairwise,
	    "nodes, middle, few: slices by arena, pairwise"),
	ROW(ALLREDUCE, "hier_bidirectional", allreduce_hier_bidirectional_unfit, allreduce_hier_bidirectional,
	    "nodes, long, own links: slices by arena, two rings"),

	RANKS(ONCE, REDUCE_SCATTER, "single", fit_single, single_reduce, "one rank alone"),
	RANKS(ONCE, REDUCE_SCATTER, "direct", direct_unfit, reduce_scatter_direct,
	      "shared memory: each rank reduces its block, one pass"),
	ON_DEVICE(ONCE, REDUCE_SCATTER, reduce_scatter_device,
	          "device memory: each rank reduces its block by a kernel"),
	RANKS(ONCE, REDUCE_SCATTER, "slots", reduce_scatter_slots_unfit, reduce_scatter_slots,
	      "one node: each rank reduces its block out of all slots"),
	ROW(REDUCE_SCATTER, "ring", fit_network, reduce_scatter_ring, "network: n-1 rounds, (n-1)/n of the bytes"),
	RANKS(ONCE, REDUCE_SCATTER, "pairwise", fit_network, reduce_scatter_pairwise,
	      "network: n-1 pairs, (n-1)/n of the bytes, one rounding"),
	ROW(REDUCE_SCATTER, "recursive_halving", reduce_scatter_recursive_halving_unfit,
	    reduce_scatter_recursive_halving, "network, short: log2(n) rounds, blocks packed"),
	ROW(REDUCE_SCATTER, "anticlockwise_ring", fit_network, reduce_scatter_anticlockwise_ring,
	    "network: the ring the other way round"),
	ROW(REDUCE_SCATTER, "bidirectional_ring", fit_network, reduce_scatter_bidirectional_ring,
	    "network, long, own links: two rings, half of each block"),
	ROW(REDUCE_SCATTER, "meet_in_middle_ring", fit_network, reduce_scatter_meet_in_middle_ring,
	    "network, own links: both ways half round, n/2 rounds"),
	ROW(REDUCE_SCATTER, "quad_directional_ring", fit_network, reduce_scatter_quad_directional_ring,
	    "network, long, own links: four rings, a quarter of each block"),

	RANKS(ONCE, REDUCE_SCATTERV, "single", fit_single, single_reduce, "one rank alone"),
	RANKS(ONCE, REDUCE_SCATTERV, "direct", direct_unfit, reduce_scatter_direct,
	      "shared memory: each rank reduces its block, one pass"),
	ON_DEVICE(ONCE, REDUCE_SCATTERV, reduce_scatter_device,
	          "device memory: each rank reduces its block by a kernel"),
	RANKS(ONCE, REDUCE_SCATTERV, "slots", reduce_scatter_slots_unfit, reduce_scatter_slots,
	      "one node: chunks of the longest block"),
	ROW(REDUCE_SCATTERV, "ring", fit_network, reduce_scatter_ring,
	    "network: n-1 rounds, each block sent n-1 times"),
	RANKS(ONCE, REDUCE_SCATTERV, "pairwise", fit_network, reduce_scatter_pairwise,
	      "network: n-1 pairs, each block sent once by each rank, one rounding"),
	ROW(REDUCE_SCATTERV, "anticlockwise_ring", fit_network, reduce_scatter_anticlockwise_ring,
	    "network: the ring the other way round"),
	ROW(REDUCE_SCATTERV, "bidirectional_ring", fit_network, reduce_scatter_bidirectional_ring,
	    "network, long, own links: two rings, half of each block"),
	ROW(REDUCE_SCATTERV, "meet_in_middle_ring", fit_network, reduce_scatter_meet_in_middle_ring,
	    "network, own links: both ways half round, n/2 rounds"),
	ROW(REDUCE_SCATTERV, "quad_directional_ring", fit_network, reduce_scatter_quad_directional_ring,
	    "network, long, own links: four rings, a quarter of each block"),

	ROW(ALLGATHER, "single", fit_single, single_copy, "one rank alone"),
	ROW(ALLGATHER, "direct", direct_unfit, allgather_direct, "shared memory: each block copied once"),
	ON_DEVICE(ANY, ALLGATHER, allgather_device, "device memory: each block copied once"),
	ROW(ALLGATHER, "slots", allgather_slots_unfit, allgather_slots, "one node: one wait a chunk"),
	ROW(ALLGATHER, "ring", fit_network, allgather_ring, "network: n-1 rounds, each block passed on as it comes"),
	ROW(ALLGATHER, "bruck", allgather_bruck_unfit, allgather_bruck,
	    "network, short: log2(n) rounds, blocks packed"),
	ROW(ALLGATHER, "recursive_doubling", allgather_recursive_doubling_unfit, allgather_recursive_doubling,
	    "network, short, n a power of two: log2(n) rounds"),
	ROW(ALLGATHER, "anticlockwise_ring", fit_network, allgather_anticlockwise_ring,
	    "network: the ring the other way round"),
	ROW(ALLGATHER, "bidirectional_ring", fit_network, allgather_bidirectional_ring,
	    "network, long, own links: two rings, half of each block"),
	ROW(ALLGATHER, "meet_in_middle_ring", fit_network, allgather_meet_in_middle_ring,
	    "network, own links: both ways half round, n/2 rounds"),
	ROW(ALLGATHER, "quad_directional_ring", fit_network, allgather_quad_directional_ring,
	    "network, long, own links: four rings, a quarter of each block"),
	ROW(ALLGATHER, "broadcast", fit_network, allgather_broadcast, "network, short: each block to all ranks"),

	ROW(ALLGATHERV, "single", fit_single, single_copy, "one rank alone"),
	ROW(ALLGATHERV, "direct", direct_unfit, allgather_direct, "shared memory: each block copied once"),
	ON_DEVICE(ANY, ALLGATHERV, allgather_device, "device memory: each block copied once"),
	ROW(ALLGATHERV, "slots", allgather_slots_unfit, allgather_slots,
	    "one node: one wait a chunk of the longest block"),
	ROW(ALLGATHERV, "ring", fit_network, allgather_ring, "network: n-1 rounds, each block passed on as it comes"),
	ROW(ALLGATHERV, "anticlockwise_ring", fit_network, allgather_anticlockwise_ring,
	    "network: the ring the other way round"),
	ROW(ALLGATHERV, "bidirectional_ring", fit_network, allgather_bidirectional_ring,
	    "network, long, own links: two rings, half of each block"),
	ROW(ALLGATHERV, "meet_in_middle_ring", fit_network, allgather_meet_in_middle_ring,
	    "network, own links: both ways half round, n/2 rounds"),
	ROW(ALLGATHERV, "quad_directional_ring", fit_network, allgather_quad_directional_ring,
	    "network, long, own links: four rings, a quarter of each block"),
	ROW(ALLGATHERV, "broadcast", fit_network, allgather_broadcast, "network, short: each block to all ranks"),

	ROW(ALLTOALL, "single", fit_single, single_copy, "one rank alone"),
	ROW(ALLTOALL, "direct", direct_unfit, alltoall_direct, "shared memory: each block copied once"),
	ON_DEVICE(ANY, ALLTOALL, alltoall_device, "device memory: each block copied once"),
	ROW(ALLTOALL, "slots", alltoall_slots_unfit, alltoall_slots, "one node: pairs in turn, one wait a chunk"),
	ROW(ALLTOALL, "pairwise", fit_network, alltoall_pairwise, "network: n-1 pairs, each block sent once"),
	ROW(ALLTOALL, "bruck", alltoall_bruck_unfit, alltoall_bruck,
	    "network, short: log2(n) rounds of half of the blocks, packed"),

	ROW(ALLTOALLV, "single", fit_single, single_copy, "one rank alone"),
	ROW(ALLTOALLV, "direct", direct_unfit, alltoall_direct, "shared memory: each block copied once"),
	ON_DEVICE(ANY, ALLTOALLV, alltoall_device, "device memory, counts as last time: each block copied once"),
	ROW(ALLTOALLV, "slots", alltoall_slots_unfit, alltoall_slots,
	    "one node: one wait a chunk of the longest stream"),
	ROW(ALLTOALLV, "pairwise", fit_network, alltoall_pairwise, "network: n-1 pairs, each block sent once"),

	ROW(BROADCAST, "single", fit_single, single_copy, "one rank alone"),
	ROW(BROADCAST, "direct", direct_unfit, broadcast_direct, "shared memory: copied once"),
	ON_DEVICE(ANY, BROADCAST, broadcast_device, "device memory: copied once"),
	ROW(BROADCAST, "slots", broadcast_slots_unfit, broadcast_slots, "one node: the root up to four chunks ahead"),
	ROW(BROADCAST, "binomial", fit_network, broadcast_binomial, "network: log2(n) rounds, in pieces"),
	ROW(BROADCAST, "knomial", fit_network, broadcast_knomial, "network, short: log4(n) rounds, in pieces"),
	ROW(BROADCAST, "scatter_allgather", fit_network, broadcast_scatter_allgather,
	    "network, long: blocks down a tree, then round a ring"),
	ROW(BROADCAST, "chain", fit_network, broadcast_chain, "network, long: pieces passed on along all ranks"),

	RANKS(ONCE, REDUCE, "single", fit_single, single_reduce, "one rank alone"),
	RANKS(ONCE, REDUCE, "direct", direct_unfit, reduce_direct,
	      "shared memory: each rank reduces a slice for the root, one pass"),
	ON_DEVICE(ONCE, REDUCE, reduce_device, "device memory: each rank reduces a slice by a kernel"),
	RANKS(ONCE, REDUCE, "oneshot", oneshot_unfit, reduce_oneshot,
	      "one node, up to a slot: one wait, the root reduces all"),
	RANKS(ONCE, REDUCE, "slots", reduce_slots_unfit, reduce_slots,
	      "one node: each rank reduces a slice, the root gathers"),
	ROW(REDUCE, "binomial", fit_network, reduce_binomial, "network: log2(n) rounds, in pieces"),
	ROW(REDUCE, "knomial", fit_network, reduce_knomial, "network, short: log4(n) rounds, in pieces"),
	RANKS(ONCE, REDUCE, "scatter_gather", fit_network, reduce_scatter_gather,
	      "network, long: each rank reduces a block, the root gathers"),
	ROW(REDUCE, "chain", fit_network, reduce_chain, "network, long: pieces summed along all ranks"),
	RANKS(RANKS, REDUCE, "rank_chain", fit_network, rank_chain,
	      "network, long, rank order: pieces summed along all ranks, then to the root"),

	ROW(GATHER, "single", fit_single, single_copy, "one rank alone"),
	ROW(GATHER, "direct", direct_unfit, rooted_direct, "shared memory: each rank writes its block to the root"),
	ON_DEVICE(ANY, GATHER, rooted_device, "device memory: the root copies each block"),
	ROW(GATHER, "slots", alltoall_slots_unfit, alltoall_slots, "one node: one wait a chunk"),
	ROW(GATHER, "linear", fit_network, alltoall_pairwise, "network: n-1 messages, each block sent once"),
	ROW(GATHER, "binomial", rooted_binomial_unfit, rooted_binomial,
	    "network, short: log2(n) rounds, blocks packed"),

	ROW(GATHERV, "single", fit_single, single_copy, "one rank alone"),
	ROW(GATHERV, "direct", direct_unfit, rooted_direct, "shared memory: the root copies each block"),
	ON_DEVICE(ANY, GATHERV, rooted_device, "device memory: the root copies each block"),
	ROW(GATHERV, "slots", alltoall_slots_unfit, alltoall_slots, "one node: one wait a chunk"),
	ROW(GATHERV, "linear", fit_network, alltoall_pairwise, "network: n-1 messages, each block sent once"),

	ROW(SCATTER, "single", fit_single, single_copy, "one rank alone"),
	ROW(SCATTER, "direct", direct_unfit, rooted_direct, "shared memory: each rank copies its block from the root"),
	ON_DEVICE(ANY, SCATTER, rooted_device, "device memory: each rank copies its block from the root"),
	ROW(SCATTER, "slots", alltoall_slots_unfit, alltoall_slots, "one node: one wait a chunk"),
	ROW(SCATTER, "linear", fit_network, alltoall_pairwise, "network: n-1 messages, each block sent once"),
	ROW(SCATTER, "binomial", rooted_binomial_unfit, rooted_binomial,
	    "network, short: log2(n) rounds, blocks packed"),

	ROW(SCATTERV, "single", fit_single, single_copy, "one rank alone"),
	ROW(SCATTERV, "direct", direct_unfit, rooted_direct, "shared memory: the root writes each block"),
	ROW(SCATTERV, "slots", alltoall_slots_unfit, alltoall_slots, "one node: one wait a chunk"),
	ROW(SCATTERV, "linear", fit_network, alltoall_pairwise, "network: n-1 messages, each block sent once"),

	RANKS(ONCE, SCAN, "single", fit_single, single_prefix, "one rank alone"),
	RANKS(RANKS, SCAN, "direct", direct_unfit, prefix_direct,
	      "shared memory: each rank folds a slice for all, one pass"),
	ON_DEVICE(ONCE, SCAN, prefix_device, "device memory: rank r folds r+1 inputs by a kernel"),
	RANKS(ONCE, SCAN, "slots", prefix_slots_unfit, prefix_slots,
	      "one node: rank r folds r+1 inputs, one wait a chunk"),
	RANKS(ONCE, SCAN, "pairwise", fit_network, prefix_pairwise,
	      "network, short: one round, to all ranks after it, one rounding"),
	RANKS(RANKS, SCAN, "chain", fit_network, prefix_chain, "network, long: pieces folded along all ranks"),

	RANKS(ONCE, EXSCAN, "single", fit_single, single_prefix, "one rank alone"),
	RANKS(RANKS, EXSCAN, "direct", direct_unfit, prefix_direct,
	      "shared memory: each rank folds a slice for all, one pass"),
	ON_DEVICE(ONCE, EXSCAN, prefix_device, "device memory: rank r folds r+1 inputs by a kernel"),
	RANKS(ONCE, EXSCAN, "slots", prefix_slots_unfit, prefix_slots,
	      "one node: rank r folds r+1 inputs, one wait a chunk"),
	RANKS(ONCE, EXSCAN, "pairwise", fit_network, prefix_pairwise,
	      "network, short: one round, to all ranks after it, one rounding"),
	RANKS(RANKS, EXSCAN, "chain", fit_network, prefix_chain, "network, long: pieces folded along all ranks"),

	ROW(BARRIER, "single", fit_single, single_nothing, "one rank alone"),
	ROW(BARRIER, "flags", fit_node, barrier_flags, "one node: one wait"),
	ROW(BARRIER, "dissemination", fit_network, barrier_dissemination, "network: log2(n) rounds"),

	ROW(SEND, "p2p", fit_any, p2p_send, "pieces of a message each"),
	ROW(RECV, "p2p", fit_any, p2p_recv, "pieces of a message each"),
};
const size_t n_algorithms = sizeof algorithms / sizeof *algorithms;

const char *algo_disorder(const struct algorithm *algorithm, const struct algo_in *in)
{
	if (algorithm->fold_order >= in->fold_order)
		return NULL;
	return algorithm->fold_order == PLAN_ORDER_ANY
	           ? "does not fold in rank order"
	           : "rounds after each rank, so its results depend on the algorithm";
}

const char *algo_unfit(const struct algorithm *algorithm, const struct algo_in *in)
{
	const char *why = algo_disorder(algorithm, in);

	return why != NULL ? why : algorithm->unfit(in);
}

/* GCL's names of algorithms that have another name here. */
static const struct {
	enum collective collective;
	const char *alias, *name;
} aliases[] = {
	{ COLLECTIVE_ALLREDUCE, "clockwise_ring", "ring" },
	{ COLLECTIVE_REDUCE_SCATTER, "clockwise_ring", "ring" },
	{ COLLECTIVE_REDUCE_SCATTERV, "clockwise_ring", "ring" },
	{ COLLECTIVE_ALLGATHER, "clockwise_ring", "ring" },
	{ COLLECTIVE_ALLGATHERV, "clockwise_ring", "ring" },
	{ COLLECTIVE_ALLREDUCE, "bidirectional_ring_pair", "bidirectional_ring" },
	{ COLLECTIVE_REDUCE_SCATTER, "bidirectional_ring_pair", "bidirectional_ring" },
	{ COLLECTIVE_REDUCE_SCATTERV, "bidirectional_ring_pair", "bidirectional_ring" },
	{ COLLECTIVE_ALLGATHER, "bidirectional_ring_pair", "bidirectional_ring" },
	{ COLLECTIVE_ALLGATHERV, "bidirectional_ring_pair", "bidirectional_ring" },
	{ COLLECTIVE_REDUCE_SCATTER, "broadcast", "pairwise" },
	{ COLLECTIVE_REDUCE_SCATTERV, "broadcast", "pairwise" },
};

const struct algorithm *algo_find(enum collective collective, const char *name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (aliases[i].collective == collective && strcmp(aliases[i].alias, name) == 0)
			name = aliases[i].name;
	for (size_t i = 0; i < n_algorithms; i++)
		if (algorithms[i].collective == collective && strcmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	return NULL;
}
