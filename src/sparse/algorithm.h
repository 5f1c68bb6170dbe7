/* SPDX-License-Identifier: MIT */
/* The exchange algorithms, as rows: what happens between the gathered headers and the result. */
#ifndef SPARSE_ALGORITHM_H
#define SPARSE_ALGORITHM_H

#include "base/user_op.h"
#include "exec/script.h"
#include "sparse/cost.h"
#include "sparse/format.h"

#include <choir/sparse.h>

struct sparse;

/* A step of the script: fills *turn, or leaves turn->what as it is and sets sparse->step to what comes next at once. */
typedef choir_status (*sparse_step)(struct sparse *sparse, struct script_turn *turn);

#define FORMAT_LEAST N_FORMATS /* each region takes the format that is the shortest for it */

struct sparse_method {
	const char *name;
	const char *about;
	/* Its work where messages travel, and where all ranks share memory. */
	struct work (*cost)(const struct cost *cost);
	struct work (*cost_shared)(const struct cost *cost);
	/* The first step once the headers agree and there are pairs; it ends in deliver_start(sparse, count). */
	sparse_step start;
	/* Writes the result to sparse->target; ends in deliver_flush. */
	sparse_step fill;
	/* The same where all ranks share memory; NULL = there is no such variant. */
	sparse_step start_shared, fill_shared;
	/* Where all lists stay on the device; fill writes the result there too.  NULL = there is no such variant. */
	sparse_step start_device;
	enum format format; /* of split's reduced regions */
	bool raw;           /* start_shared takes raw pairs */
	bool keeps;         /* can leave duplicates as they are */
	bool cuts;          /* ranks own the regions of sparse->bounds */
	bool spans;         /* it holds a row for each index of the range */
	/* Rows are not reduced from left to right: unless forced, it is chosen only where that gives the same bits. */
	bool regroups;
	bool fills; /* absent rows get what changes no bit, and the host folds dense rows */
};

extern const struct sparse_method sparse_methods[];
extern const int n_sparse_methods;

/* sparse_method_find: row of that name, -1 if there is none. */
int sparse_method_find(const char *name);

/* sparse_method_refusal: NULL, or why the method cannot reduce by that operator of the caller's (NULL = none), a
 * constant text. */
const char *sparse_method_refusal(const struct sparse_method *method, const struct user_op *user);

/* sparse_method_names: all of them, with commas. */
const char *sparse_method_names(char *text, size_t bytes);

/* sparse_algorithm_name: of a row; "none" for -1. */
const char *sparse_algorithm_name(int row);

/* The method that was chosen, and why. */
struct sparse_choice {
	const struct sparse_method *method;
	struct work work;
	double ns; /* predicted time */
	bool kept; /* it is the last call's; another is cheaper, but by too little */
};

/* sparse_method_choose: the forced row; the last call's while it is within a tenth of the cheapest; or the cheapest
 * that can, ties go to the earlier.  UNSUPPORTED with a sentence if the forced one cannot. */
choir_status sparse_method_choose(const struct sparse_facts *facts, const struct cost *cost,
                                  const struct link_costs *costs, choir_coalesce mode, struct sparse_choice *out);

struct work allgather_cost(const struct cost *cost);
struct work allgather_cost_shared(const struct cost *cost);
choir_status allgather_start(struct sparse *sparse, struct script_turn *turn);
choir_status allgather_fill(struct sparse *sparse, struct script_turn *turn);
choir_status allgather_start_shared(struct sparse *sparse, struct script_turn *turn);
choir_status allgather_start_device(struct sparse *sparse, struct script_turn *turn);

struct work split_cost(const struct cost *cost);
struct work split_bitmap_cost(const struct cost *cost);
struct work split_dense_cost(const struct cost *cost);
choir_status split_start(struct sparse *sparse, struct script_turn *turn);
choir_status split_fill(struct sparse *sparse, struct script_turn *turn);
struct work split_cost_shared(const struct cost *cost); /* split_shared.c */
choir_status split_start_shared(struct sparse *sparse, struct script_turn *turn);
choir_status split_fill_shared(struct sparse *sparse, struct script_turn *turn);

struct work recursive_cost(const struct cost *cost);
choir_status recursive_start(struct sparse *sparse, struct script_turn *turn);
choir_status recursive_fill(struct sparse *sparse, struct script_turn *turn);

struct work mask_cost(const struct cost *cost);
choir_status mask_start(struct sparse *sparse, struct script_turn *turn);
choir_status mask_fill(struct sparse *sparse, struct script_turn *turn);

struct work densify_cost(const struct cost *cost);
choir_status densify_start(struct sparse *sparse, struct script_turn *turn);
choir_status densify_fill(struct sparse *sparse, struct script_turn *turn);

#endif
