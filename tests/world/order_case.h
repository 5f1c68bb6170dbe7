/* SPDX-License-Identifier: MIT */
/* Random cases of order=ranks, the same on all ranks; their inputs, and the fold on one rank that they must equal. */
#ifndef TESTS_ORDER_CASE_H
#define TESTS_ORDER_CASE_H

#include "algo/algo.h"

#include <choir/choir.h>

enum { ORDER_RANKS = 8, ORDER_MOST_COUNT = 20000, ORDER_MOST_CUTS = 4, ORDER_ELEM_BYTES = 16 };

enum order_kind {
	ORDER_ALLREDUCE,
	ORDER_REDUCE,
	ORDER_REDUCE_SCATTER,
	ORDER_REDUCE_SCATTERV,
	ORDER_LIST,
	ORDER_REDUCE_LIST,
	ORDER_SCATTER_LIST,
	ORDER_PERSISTENT,
	ORDER_SCAN,
	ORDER_EXSCAN,
	ORDER_SPARSE,
	ORDER_KINDS,
	ORDER_PADDED = ORDER_KINDS /* has no turn of its own: instead of some ORDER_REDUCE_SCATTER */
};

struct order_case {
	enum order_kind kind;
	choir_dtype dtype;
	choir_op op;
	size_t count, counts[ORDER_RANKS], cuts[ORDER_MOST_CUTS + 1];
	int n_cuts, root;
	bool in_place, device[ORDER_RANKS]; /* device: where buffers are */
	bool names, must_fit;               /* of dense cases: the options name an algorithm; one that fits any case */
	char options[96];
};

/* order_case_draw: case `number` on a comm of so many nodes. */
struct order_case order_case_draw(uint64_t number, int nodes);

/* order_case_collective: of dense cases. */
enum collective order_case_collective(const struct order_case *c);

/* order_case_blocks: do the ranks get blocks of the result?  order_case_spans: elements [from, from + n) of each span
 * are this rank's; returns their number, at most ORDER_SPANS: a list that is scattered has one a tensor. */
enum { ORDER_SPANS = 2 };
struct order_span {
	size_t from, n;
};
bool order_case_blocks(const struct order_case *c);
int order_case_spans(const struct order_case *c, int rank, struct order_span *spans);

/* order_case_fill: the inputs of all ranks into all[r], and what this rank wants: the fold of those that it is of. */
void order_case_fill(const struct order_case *c, uint64_t number, int rank, unsigned char *const *all,
                     unsigned char *want);

double order_case_factor(int rank);

#endif
