/* SPDX-License-Identifier: MIT */
/* The cost model: T = messages alpha + bytes received beta + bytes copied sigma + pairs merged merge + bytes folded
 * fold.  From gathered numbers and the constants of the link class (algo/link_costs.h) only, so that every rank comes
 * to the same figures, and no clock has a say in it. */
#ifndef SPARSE_COST_H
#define SPARSE_COST_H

#include "algo/algo.h"
#include "algo/link_costs.h"
#include "sparse/header.h"

/* The work of a method: the factors of T.  received: bytes through the busiest link, in its busier direction; copied:
 * bytes of dense or packed memory that are written and read again; merged: pairs whose index is looked up. */
struct work {
	double messages, received, copied, merged, folded;
};

/* The sizes from which the methods compute their work; bytes, or numbers of pairs. */
struct cost {
	enum link_class link;
	int sharers;           /* ranks that receive through the same link */
	int n;                 /* ranks */
	double rounds;         /* ceil(log2 n) */
	double share;          /* (n - 1) / n */
	double index, row;     /* bytes of a travelling index, of a row */
	double pairs, most;    /* of all ranks; of the longest list */
	double least, heavy;   /* of the shortest list; of the longest, at most pairs / sharers */
	double gathers;        /* the share of gathered regions that a link carries: all but the shortest */
	double span, distinct; /* indices in the range; indices of the result, guessed */
	bool exact;            /* the operator gives the same bits in any grouping */
};

/* cost_of: where the ranks share memory (facts->shared), else by the layout.  distinct: by facts->growth, or the guess
 * of cost_union. */
struct cost cost_of(const struct sparse_facts *facts, const struct layout *layout, choir_dtype dtype, choir_op op);

/* cost_union: how many distinct indices the lists of so many ranks have together, if they are spread evenly. */
double cost_union(const struct cost *cost, int ranks);

/* cost_cut: sets gathers from the bounds of the regions (region_cut).  Regions have as many pairs each, but not as many
 * different indices: where indices are dense, most pairs share them. */
void cost_cut(struct cost *cost, const uint64_t *bounds);

/* cost_gathered: pairs through the busiest link where every rank gets every list: (n - 1) k for lists of k pairs.
 * cost_scattered: the same where every rank sends each other one the pairs of its region: (n - 1) / n k.  The rank with
 * the shortest list receives most, the one with the longest sends most. */
double cost_gathered(const struct cost *cost);
double cost_scattered(const struct cost *cost);

/* cost_ns: T; work->received is of one rank. */
double cost_ns(const struct cost *cost, const struct link_costs *costs, const struct work *work);

#endif
