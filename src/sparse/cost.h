/* SPDX-License-Identifier: MIT */
/* The cost model: T = messages alpha + bytes received beta + bytes copied sigma + pairs merged merge + bytes folded
 * fold.  From gathered numbers and the constants of the link class (algo/link_costs.h) only, so that every rank comes
 * to the same figures, and no clock has a say in it. */
#ifndef SPARSE_COST_H
#define SPARSE_COST_H

#include "algo/algo.h"
#include "algo/link_costs.h"
#include "sparse/header.h"

/* What an algorithm does: the factors of T.  received: through the busiest link, whichever way more goes.  merged:
 * pairs put in their places; copied: bytes of dense or packed memory that are written and read again. */
struct work {
	double messages, received, copied, merged, folded;
};

/* What the work of all algorithms is made of: sizes in bytes. */
struct cost {
	enum link_class link;
	int sharers;           /* ranks that receive through the same link */
	int n;                 /* ranks */
	double rounds;         /* ceil(log2 n) */
	double share;          /* (n - 1) / n */
	double index, row;     /* bytes of a travelling index, of a row */
	double pairs, most;    /* of all ranks; of the longest list */
	double least, heavy;   /* of the shortest; of the longest, but no more a rank than a link's ranks can have */
	double gathers;        /* what a link carries of regions that all gather: all but the shortest */
	double span, distinct; /* of indices: all that are possible, and the guess at how many the result has */
	bool exact;            /* the operator gives the same bits in any grouping */
};

/* cost_of: where the ranks share memory (facts->shared), else by the layout.  distinct: by facts->growth, or the guess
 * of cost_union. */
struct cost cost_of(const struct sparse_facts *facts, const struct layout *layout, choir_dtype dtype, choir_op op);

/* cost_union: how many distinct indices the lists of so many ranks have together, if they are spread evenly. */
double cost_union(const struct cost *cost, int ranks);

/* cost_cut: gathers, from the bounds of the regions (region_cut): they have as many pairs each, but where indices are
 * dense most of them are the same ones.  Text's first region is half as long as its last. */
void cost_cut(struct cost *cost, const uint64_t *bounds);

/* cost_gathered, cost_scattered: pairs that pass the busiest link where all get all lists, and where all send others
 * the pairs of as long regions.  Lists of one length: (n - 1) k and (n - 1) / n k.  A short one's owner receives more
 * than the others; a long one's sends more. */
double cost_gathered(const struct cost *cost);
double cost_scattered(const struct cost *cost);

/* cost_ns: T; work->received is of one rank. */
double cost_ns(const struct cost *cost, const struct link_costs *costs, const struct work *work);

#endif
