/* SPDX-License-Identifier: MIT */
/* The table of algorithms: what each selects, how it exchanges, what leaves the residual. */
#ifndef TOPK_ALGORITHM_H
#define TOPK_ALGORITHM_H

#include "topk/run.h"

struct topk_algorithm {
	const char *name;
	const char *aliases[3];
	double density; /* by default */
	/* makes acc, and fills run->selected from it; run->agree follows.  NULL = nothing is selected */
	topk_step select;
	topk_step start; /* the exchange; leaves run->kept or run->sum */
	/* only what the result has leaves the residual; else all that was selected does, before the exchange */
	bool returns;
	bool gathers;  /* every rank has the pairs of all others, and adds all of them */
	bool apart;    /* indices and values travel in two collectives */
	bool keeps_k;  /* only the k largest sums are kept */
	bool chunked;  /* its messages have room for its own selection only */
	bool fixed;    /* a message has room for k entries */
	bool pairwise; /* has numbers for each pair of ranks */
	bool regroups; /* lists are added in pairs of ranks, not in rank order */
};

extern const struct topk_algorithm topk_algorithms[];
extern const size_t n_topk_algorithms;

/* topk_algorithm_find: by name or alias, whatever the case; NULL if there is none.  topk_algorithm_names: all names,
 * for a sentence. */
const struct topk_algorithm *topk_algorithm_find(const char *name);
const char *topk_algorithm_names(char *text, size_t bytes);

/* select.c: the ways to select. */
choir_status topk_select_top(struct topk_run *run, struct script_turn *turn);
choir_status topk_select_reuse(struct topk_run *run, struct script_turn *turn);
choir_status topk_select_adapt(struct topk_run *run, struct script_turn *turn);
choir_status topk_select_gaussian(struct topk_run *run, struct script_turn *turn);
choir_status topk_select_sampled(struct topk_run *run, struct script_turn *turn);
choir_status topk_select_chunks(struct topk_run *run, struct script_turn *turn);

/* topk_band_top: the most entries within a band that ends at so many k.  topk_band_bottom: the fewest of one that
 * begins there. */
uint64_t topk_band_top(double high, uint64_t k);
uint64_t topk_band_bottom(double low, uint64_t k);

/* topk_policy_select: the way of a policy for an algorithm; NULL if its messages have no room for that. */
topk_step topk_policy_select(const struct topk_algorithm *algorithm, choir_topk_threshold policy);

/* chosen.c: what the caller selected; run->bad_at = the position of the first index beyond the tensor, else
 * UINT64_MAX. */
choir_status topk_select_chosen(struct topk_run *run, struct script_turn *turn);

/* topk_chunk_room: entries of the chunk of rank c in a call.  topk_region: [from, from + n) of rank c, equal parts. */
uint64_t topk_chunk_room(const struct topk_run *run, int c);
uint64_t topk_region_start(const struct topk_run *run, int c);

/* The exchanges: a file each. */
choir_status topk_dense_start(struct topk_run *run, struct script_turn *turn);
choir_status topk_lists_start(struct topk_run *run, struct script_turn *turn);
choir_status topk_tree_start(struct topk_run *run, struct script_turn *turn);
choir_status topk_owners_start(struct topk_run *run, struct script_turn *turn);
choir_status topk_oktopk_start(struct topk_run *run, struct script_turn *turn);
choir_status topk_spardl_start(struct topk_run *run, struct script_turn *turn);

/* owners.c: the selected pairs to the owners of run->bounds, summed there in rank order: run->held is mine. */
choir_status topk_owners_split(struct topk_run *run, struct script_turn *turn, topk_step then);

#endif
