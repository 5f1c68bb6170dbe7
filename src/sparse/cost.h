/* SPDX-License-Identifier: MIT */
/* The cost model: T = M alpha + V beta + pairs worked on.  From gathered numbers and constants of the link class only, so that every rank comes to the same
 * figures, and the same call to the same choice every day. */
#ifndef SPARSE_COST_H
#define SPARSE_COST_H

#include "algo/algo.h"
#include "sparse/header.h"

/* What the costs of all algorithms are made of: times in ns, sizes in bytes. */
struct cost {
	int n;                 /* ranks */
	double rounds;         /* ceil(log2 n) */
	double share;          /* (n - 1) / n */
	double alpha, beta;    /* a message, a byte received */
	double merge, copy;    /* a pair merged; a byte copied or folded where it lies dense */
	double index, row;     /* bytes of a travelling index, of a row */
	double pairs, most;    /* of all ranks; of one */
	double span, distinct; /* of indices: all that are possible, and the guess at how many the result has */
	bool exact;            /* the operator gives the same bits in any grouping */
};

/* cost_of: where the ranks share memory (facts->shared), else by the layout. */
struct cost cost_of(const struct sparse_facts *facts, const struct layout *layout, choir_dtype dtype, choir_op op);

/* cost_union: how many distinct indices the lists of so many ranks have together, if they are spread evenly. */
double cost_union(const struct cost *cost, int ranks);

#endif
