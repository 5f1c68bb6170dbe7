/* SPDX-License-Identifier: MIT */
/* Short vectors: few rounds.  Long ones: each byte over each wire as seldom as can be.  Between them few ranks go pair by pair, many halve and
 * double.  Where nodes have several ranks, what sends a node's bytes more than once over its wire stays away from long vectors. */
#include "algo/default_network.h"

#include <limits.h>
#include <stddef.h>

#define K UINT64_C(1024)
#define M (1024 * K)
#define EVER UINT64_MAX

enum nodes { ANY, FLAT /* one rank each */, FULL /* several on some */ };

static const struct choice {
	enum collective collective;
	enum nodes nodes;
	int parts;      /* at most so many: nodes where the algorithm is hierarchical, else ranks */
	uint64_t bytes; /* at most so many: of the longest buffer of a rank */
	const char *name;
} choices[] = {
	{ COLLECTIVE_ALLREDUCE, FULL, INT_MAX, 32 * K, "hier_rd" },
	{ COLLECTIVE_ALLREDUCE, FULL, 8, 512 * K, "hier_pairwise" },
	{ COLLECTIVE_ALLREDUCE, FULL, INT_MAX, 512 * K, "hier_halving_doubling" },
	{ COLLECTIVE_ALLREDUCE, FULL, INT_MAX, EVER, "hier_ring" },
	{ COLLECTIVE_ALLREDUCE, FLAT, INT_MAX, 32 * K, "recursive_doubling" },
	{ COLLECTIVE_ALLREDUCE, FLAT, 8, 512 * K, "pairwise" },
	{ COLLECTIVE_ALLREDUCE, FLAT, INT_MAX, 512 * K, "halving_doubling" },
	{ COLLECTIVE_ALLREDUCE, ANY, INT_MAX, EVER, "ring" },

	{ COLLECTIVE_REDUCE_SCATTER, ANY, 4, 32 * K, "pairwise" },
	{ COLLECTIVE_REDUCE_SCATTER, ANY, INT_MAX, 32 * K, "recursive_halving" },
	{ COLLECTIVE_REDUCE_SCATTER, FLAT, 16, 4 * M, "pairwise" },
	{ COLLECTIVE_REDUCE_SCATTER, ANY, INT_MAX, EVER, "ring" },

	{ COLLECTIVE_ALLGATHER, ANY, INT_MAX, 64 * K, "recursive_doubling" },
	{ COLLECTIVE_ALLGATHER, ANY, INT_MAX, 64 * K, "bruck" },
	{ COLLECTIVE_ALLGATHER, ANY, INT_MAX, EVER, "ring" },

	{ COLLECTIVE_ALLTOALL, ANY, 4, EVER, "pairwise" },
	{ COLLECTIVE_ALLTOALL, ANY, INT_MAX, 8 * K, "bruck" },
	{ COLLECTIVE_ALLTOALL, ANY, INT_MAX, EVER, "pairwise" },

	{ COLLECTIVE_BROADCAST, ANY, 3, EVER, "chain" },
	{ COLLECTIVE_BROADCAST, ANY, INT_MAX, 16 * K, "knomial" },
	{ COLLECTIVE_BROADCAST, ANY, INT_MAX, 256 * K, "binomial" },
	{ COLLECTIVE_BROADCAST, ANY, 16, EVER, "chain" },
	{ COLLECTIVE_BROADCAST, ANY, INT_MAX, 16 * M, "scatter_allgather" },
	{ COLLECTIVE_BROADCAST, ANY, INT_MAX, EVER, "chain" },

	{ COLLECTIVE_REDUCE, ANY, INT_MAX, 16 * K, "knomial" },
	{ COLLECTIVE_REDUCE, ANY, INT_MAX, 64 * K, "binomial" },
	{ COLLECTIVE_REDUCE, FLAT, INT_MAX, 4 * M, "scatter_gather" },
	{ COLLECTIVE_REDUCE, ANY, INT_MAX, EVER, "chain" },
};

static uint64_t longest_buffer(const struct algo_in *in)
{
	switch (in->collective) {
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		return in->bytes * (uint64_t)in->layout->n;
	default:
		return in->bytes;
	}
}

static bool holds(const struct choice *choice, const struct algo_in *in)
{
	const struct layout *layout = in->layout;
	enum nodes nodes = layout->max_node_size > 1 ? FULL : FLAT;
	int parts = choice->nodes == FULL ? layout->n_nodes : layout->n;

	return choice->collective == in->collective && (choice->nodes == ANY || choice->nodes == nodes) && parts <= choice->parts &&
	       longest_buffer(in) <= choice->bytes;
}

const struct algorithm *default_network(const struct algo_in *in)
{
	if (in->layout->n_nodes == 1)
		return NULL;
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
		const struct algorithm *algorithm = holds(&choices[i], in) ? algo_find(in->collective, choices[i].name) : NULL;

		if (algorithm && !algorithm->unfit(in))
			return algorithm;
	}
	return NULL;
}
