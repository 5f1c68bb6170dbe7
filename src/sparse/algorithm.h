/* SPDX-License-Identifier: MIT */
/* The exchange algorithms, as rows: what happens between the gathered headers and the result. */
#ifndef SPARSE_ALGORITHM_H
#define SPARSE_ALGORITHM_H

#include "exec/script.h"
#include "sparse/header.h"

struct sparse;

/* A step of the script: fills *turn, or leaves turn->what as it is and sets sparse->step to what comes next at once. */
typedef choir_status (*sparse_step)(struct sparse *sparse, struct script_turn *turn);

struct sparse_method {
	const char *name;
	const char *about;
	/* Estimated time in ns from gathered numbers alone; the same arithmetic on all ranks. */
	double (*cost)(const struct sparse_facts *facts, int n_ranks, uint64_t pair_bytes);
	/* The first step once the headers agree and there are pairs; it ends in deliver_start(sparse, count). */
	sparse_step start;
	/* Writes the result to sparse->target; ends in deliver_flush. */
	sparse_step fill;
	/* The same where all ranks share memory. */
	sparse_step start_shared, fill_shared;
	bool raw; /* start_shared takes raw pairs */
};

extern const struct sparse_method sparse_methods[];
extern const int n_sparse_methods;

/* sparse_method_find: row of that name, -1 if there is none. */
int sparse_method_find(const char *name);

/* sparse_algorithm_name: of a row; "none" for -1. */
const char *sparse_algorithm_name(int row);

/* sparse_method_choose: the forced row, else the cheapest; ties go to the earlier. */
const struct sparse_method *sparse_method_choose(const struct sparse_facts *facts, int n_ranks, uint64_t pair_bytes);

double allgather_cost(const struct sparse_facts *facts, int n_ranks, uint64_t pair_bytes);
choir_status allgather_start(struct sparse *sparse, struct script_turn *turn);
choir_status allgather_fill(struct sparse *sparse, struct script_turn *turn);
choir_status allgather_start_shared(struct sparse *sparse, struct script_turn *turn);

double split_cost(const struct sparse_facts *facts, int n_ranks, uint64_t pair_bytes);
choir_status split_start(struct sparse *sparse, struct script_turn *turn);
choir_status split_fill(struct sparse *sparse, struct script_turn *turn);
choir_status split_start_shared(struct sparse *sparse, struct script_turn *turn); /* split_shared.c */
choir_status split_fill_shared(struct sparse *sparse, struct script_turn *turn);

/* Constants of the costs: a message round, a byte received, and a pair merged; of ranks in one node, where it matters most. */
#define COST_ROUND_NS 8000.0
#define COST_BYTE_NS  0.15
#define COST_PAIR_NS  6.0

#endif
