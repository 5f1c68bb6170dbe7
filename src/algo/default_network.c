/* SPDX-License-Identifier: MIT */
#include "algo/default_network.h"

#include "algo/blocks.h"
#include "algo/network_ns.h"
#include "algo/pattern_block.h"
#include "base/arithmetic.h"

#include <stdbool.h>
#include <stddef.h>

/* Longer calls are chosen for as one of MOST_BYTES.  A node's link carries up to n * n / 4 times a rank's bytes,
 * and 8 ns for each must stay below 2^63 ns. */
#define MOST_BYTES    (UINT64_C(1) << 40)
#define MOST_ON_LINKS (UINT64_C(1) << 58)

enum nodes { ANY, FLAT /* one rank each */, FULL /* several on some */ };

/* Rows that load the network more evenly are first; a later row must be faster by 1/32, since the model does not know
 * the congestion when many ranks send to one. */
static const struct choice {
	enum collective collective;
	enum nodes nodes;
	const char *name;
	uint64_t (*ns)(const struct network_call *call);
} choices[] = {
	{ COLLECTIVE_ALLREDUCE, FULL, "hier_ring", network_ns_allreduce_one_ring },
	{ COLLECTIVE_ALLREDUCE, FULL, "hier_halving_doubling", network_ns_allreduce_halving },
	{ COLLECTIVE_ALLREDUCE, FULL, "hier_rd", network_ns_allreduce_doubling },
	{ COLLECTIVE_ALLREDUCE, FULL, "hier_pairwise", network_ns_allreduce_pairs },
	{ COLLECTIVE_ALLREDUCE, FULL, "hier_bidirectional", network_ns_allreduce_two_rings },
	{ COLLECTIVE_ALLREDUCE, FLAT, "ring", network_ns_allreduce_one_ring },
	{ COLLECTIVE_ALLREDUCE, FLAT, "halving_doubling", network_ns_allreduce_halving },
	{ COLLECTIVE_ALLREDUCE, FLAT, "recursive_doubling", network_ns_allreduce_doubling },
	{ COLLECTIVE_ALLREDUCE, FLAT, "pairwise", network_ns_allreduce_pairs },
	{ COLLECTIVE_ALLREDUCE, FLAT, "bidirectional_ring", network_ns_allreduce_two_rings },
	{ COLLECTIVE_ALLREDUCE, ANY, "broadcast", network_ns_allreduce_to_all },

	{ COLLECTIVE_REDUCE_SCATTER, ANY, "ring", network_ns_block_ring },
	{ COLLECTIVE_REDUCE_SCATTER, ANY, "recursive_halving", network_ns_block_halving },
	{ COLLECTIVE_REDUCE_SCATTER, ANY, "meet_in_middle_ring", network_ns_block_meeting },
	{ COLLECTIVE_REDUCE_SCATTER, ANY, "pairwise", network_ns_block_pairs },

	{ COLLECTIVE_REDUCE_SCATTERV, ANY, "ring", network_ns_block_ring },
	{ COLLECTIVE_REDUCE_SCATTERV, ANY, "meet_in_middle_ring", network_ns_block_meeting },
	{ COLLECTIVE_REDUCE_SCATTERV, ANY, "pairwise", network_ns_block_pairs },

	{ COLLECTIVE_ALLGATHER, ANY, "ring", network_ns_block_ring },
	{ COLLECTIVE_ALLGATHER, ANY, "recursive_doubling", network_ns_block_doubling },
	{ COLLECTIVE_ALLGATHER, ANY, "bruck", network_ns_gather_bruck },
	{ COLLECTIVE_ALLGATHER, ANY, "meet_in_middle_ring", network_ns_block_meeting },
	{ COLLECTIVE_ALLGATHER, ANY, "broadcast", network_ns_gather_to_all },

	{ COLLECTIVE_ALLGATHERV, ANY, "ring", network_ns_block_ring },
	{ COLLECTIVE_ALLGATHERV, ANY, "meet_in_middle_ring", network_ns_block_meeting },
	{ COLLECTIVE_ALLGATHERV, ANY, "broadcast", network_ns_gather_to_all },

	{ COLLECTIVE_ALLTOALL, ANY, "pairwise", network_ns_block_pairs },
	{ COLLECTIVE_ALLTOALL, ANY, "bruck", network_ns_exchange_bruck },

	{ COLLECTIVE_BROADCAST, ANY, "knomial", network_ns_tree_of_four },
	{ COLLECTIVE_BROADCAST, ANY, "binomial", network_ns_tree_of_two },
	{ COLLECTIVE_BROADCAST, ANY, "chain", network_ns_chain },
	{ COLLECTIVE_BROADCAST, ANY, "scatter_allgather", network_ns_scatter_then_ring },

	{ COLLECTIVE_REDUCE, ANY, "knomial", network_ns_tree_of_four },
	{ COLLECTIVE_REDUCE, ANY, "binomial", network_ns_tree_of_two },
	{ COLLECTIVE_REDUCE, ANY, "chain", network_ns_chain },
	{ COLLECTIVE_REDUCE, ANY, "scatter_gather", network_ns_pairs_then_gather },

	{ COLLECTIVE_GATHER, ANY, "linear", network_ns_gather_to_root },
	{ COLLECTIVE_GATHER, ANY, "binomial", network_ns_packed_tree },
	{ COLLECTIVE_SCATTER, ANY, "linear", network_ns_scatter_from_root },
	{ COLLECTIVE_SCATTER, ANY, "binomial", network_ns_packed_tree },

	{ COLLECTIVE_SCAN, ANY, "pairwise", network_ns_prefix_pairs },
	{ COLLECTIVE_SCAN, ANY, "chain", network_ns_chain },
	{ COLLECTIVE_EXSCAN, ANY, "pairwise", network_ns_prefix_pairs },
	{ COLLECTIVE_EXSCAN, ANY, "chain", network_ns_chain },
};

/* The same for calls that ask for an order. */
static const struct choice ordered[] = {
	{ COLLECTIVE_ALLREDUCE, ANY, "pairwise", network_ns_all_pairs },
	{ COLLECTIVE_ALLREDUCE, ANY, "rank_chain", network_ns_line_and_back },
	{ COLLECTIVE_ALLREDUCE, ANY, "broadcast", network_ns_allreduce_to_all },

	{ COLLECTIVE_REDUCE_SCATTER, ANY, "pairwise", network_ns_block_pairs },

	{ COLLECTIVE_REDUCE, ANY, "scatter_gather", network_ns_pairs_then_gather },
	{ COLLECTIVE_REDUCE, ANY, "rank_chain", network_ns_line_and_root },

	{ COLLECTIVE_SCAN, ANY, "pairwise", network_ns_prefix_pairs },
	{ COLLECTIVE_SCAN, ANY, "chain", network_ns_chain },
	{ COLLECTIVE_EXSCAN, ANY, "pairwise", network_ns_prefix_pairs },
	{ COLLECTIVE_EXSCAN, ANY, "chain", network_ns_chain },
};

static struct network_call call_of(const struct algo_in *in)
{
	const struct layout *layout = in->layout;
	bool blocks = collective_sends_blocks(in->collective) || collective_recvs_blocks(in->collective);
	int root = collective_has(in->collective, TRAIT_ROOTED) ? in->root : 0, root_node = layout->node_of[root];
	struct network_call call = { .layout = layout,
		                     .n = (uint64_t)layout->n,
		                     .nodes = (uint64_t)layout->n_nodes,
		                     .per_node = (uint64_t)layout->max_node_size,
		                     .far = (uint64_t)(layout->n - layout->min_node_size),
		                     .far_of_root = (uint64_t)(layout->n - layout->node_size[root_node]),
		                     .root = layout->node_first[root_node] + layout->local_rank_of[root],
		                     .message = in->message_bytes };
	uint64_t bytes = rank_block_mean(in), unit = block_unit(in->elem_bytes),
		 most = min_u64(MOST_BYTES, MOST_ON_LINKS / (call.n * call.n / 4));

	call.block = min_u64(bytes, most / (blocks ? call.n : 1));
	call.longest = in->block_bytes != NULL ? min_u64(rank_block_longest(in), most / call.n) : call.block;
	call.bytes = blocks ? call.block * call.n : call.block;
	/* a node's vector is cut for its owners first */
	if (in->collective == COLLECTIVE_ALLREDUCE && in->fold_order == PLAN_ORDER_ANY)
		unit *= (uint64_t)layout->min_node_size;
	call.units = max_u64(1, (call.bytes + unit - 1) / unit);
	call.root_inside = in->collective == COLLECTIVE_REDUCE && root_node != layout->node_of[0] &&
	                   root_node != layout->node_of[layout->n - 1];
	return call;
}

const struct algorithm *default_network(const struct algo_in *in)
{
	const struct choice *rows = in->fold_order == PLAN_ORDER_ANY ? choices : ordered;
	const size_t n_rows =
	    in->fold_order == PLAN_ORDER_ANY ? sizeof choices / sizeof *choices : sizeof ordered / sizeof *ordered;
	const enum nodes nodes = in->layout->max_node_size > 1 ? FULL : FLAT;
	const struct algorithm *best = NULL;
	uint64_t best_ns = UINT64_MAX;
	struct network_call call;

	if (in->layout->n_nodes == 1)
		return NULL;
	call = call_of(in);
	for (size_t i = 0; i < n_rows; i++) {
		const struct choice *choice = &rows[i];
		const struct algorithm *algorithm;
		uint64_t ns;

		if (choice->collective != in->collective || (choice->nodes != ANY && choice->nodes != nodes))
			continue;
		algorithm = algo_find(in->collective, choice->name);
		if (algo_unfit(algorithm, in)) /* then its estimate may not be defined */
			continue;
		ns = choice->ns(&call);
		if (ns < best_ns - best_ns / 32) {
			best = algorithm;
			best_ns = ns;
		}
	}
	return best;
}
