/* SPDX-License-Identifier: MIT */
/* Estimated times of calls between nodes, in ns: Note [network costs] in network_ns.c. */
#ifndef ALGO_NETWORK_NS_H
#define ALGO_NETWORK_NS_H

#include "algo/algo.h"

#include <stdbool.h>
#include <stdint.h>

struct network_call {
	const struct layout *layout;
	uint64_t n, nodes, per_node; /* per_node: ranks of the largest node */
	uint64_t far;                /* ranks on other nodes, of a rank of the smallest node */
	uint64_t far_of_root;        /* ranks on other nodes than the root's */
	int root;                    /* its place in node order */
	uint64_t bytes;              /* the longest buffer of a rank */
	uint64_t block;              /* bytes of one rank's block, the mean one */
	uint64_t longest;            /* of the longest block */
	uint64_t units;              /* the most blocks of an exchange that are not empty */
	uint64_t message;            /* bytes of the longest message */
	bool root_inside;            /* of a reduce: on another node than the first rank and the last */
};

/* network_ns_X: of the algorithm X.  block: of reduce_scatter, allgather and others that move blocks; gather: of
 * allgather and gather; tree, chain, line: of calls with a root. */
uint64_t network_ns_all_pairs(const struct network_call *call);
uint64_t network_ns_allreduce_doubling(const struct network_call *call);
uint64_t network_ns_allreduce_halving(const struct network_call *call);
uint64_t network_ns_allreduce_one_ring(const struct network_call *call);
uint64_t network_ns_allreduce_pairs(const struct network_call *call);
uint64_t network_ns_allreduce_to_all(const struct network_call *call);
uint64_t network_ns_allreduce_two_rings(const struct network_call *call);
uint64_t network_ns_block_doubling(const struct network_call *call);
uint64_t network_ns_block_halving(const struct network_call *call);
uint64_t network_ns_block_meeting(const struct network_call *call);
uint64_t network_ns_block_pairs(const struct network_call *call);
uint64_t network_ns_block_ring(const struct network_call *call);
uint64_t network_ns_chain(const struct network_call *call);
uint64_t network_ns_exchange_bruck(const struct network_call *call);
uint64_t network_ns_gather_bruck(const struct network_call *call);
uint64_t network_ns_gather_to_all(const struct network_call *call);
uint64_t network_ns_gather_to_root(const struct network_call *call);
uint64_t network_ns_line_and_back(const struct network_call *call);
uint64_t network_ns_line_and_root(const struct network_call *call);
uint64_t network_ns_packed_tree(const struct network_call *call);
uint64_t network_ns_pairs_then_gather(const struct network_call *call);
uint64_t network_ns_prefix_pairs(const struct network_call *call);
uint64_t network_ns_scatter_from_root(const struct network_call *call);
uint64_t network_ns_scatter_then_ring(const struct network_call *call);
uint64_t network_ns_tree_of_four(const struct network_call *call);
uint64_t network_ns_tree_of_two(const struct network_call *call);

#endif
