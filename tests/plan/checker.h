/* SPDX-License-Identifier: MIT */
/* The plan checker: builds all ranks' plans of one collective and proves them in one process, without memory, network or clock.
 *
 * checker_verify looks at what any run could do: references in bounds, slots written by their owners only, phases rising, every send with
 * its receive, no cycle, and any two overlapping accesses of which one writes ordered by deps, flags and messages.
 * checker_run then does the steps on symbolic elements, in an order of its own, and compares with the plain result. */
#ifndef TESTS_PLAN_CHECKER_H
#define TESTS_PLAN_CHECKER_H

#include "algo/algo.h"

/* What is to be built; all ranks alike but for `me`. */
struct check_case {
	int n;
	const int *node_of;   /* [n], NULL = one node */
	uint64_t elem_bytes, bytes;
	const uint64_t *block_bytes;
	bool displaced;       /* allgatherv: each rank wants the blocks in another order, with gaps */
	int root;             /* p2p: the receiver; rank 0 sends */
	bool in_place;
	bool in_place_start;  /* reduce_scatter: RECV is the start of SEND, not block me */
	bool send_staged, recv_staged;
	uint64_t slot_bytes, message_bytes;
};

struct world {
	int n;
	const struct algorithm *algorithm;
	struct layout layout;
	struct algo_in *ins;
	struct plan *plans;
	uint64_t *displacements; /* [n * n] */
	char why[512];           /* the first thing found wrong */
};

/* layout_make, layout_free: a layout with the given node of each rank (NULL = all on one). */
struct layout layout_make(int n, const int *node_of);
void layout_free(struct layout *layout);

/* checker_build: false if the algorithm does not take the case (why says so) or a builder failed; world_free either way. */
bool checker_build(const struct algorithm *algorithm, const struct check_case *c, struct world *world);
void world_free(struct world *world);

bool checker_verify(struct world *world);
bool checker_run(struct world *world, unsigned seed); /* seed 0: ranks in turn, lowest step first; else a random order */

/* Sizes of a rank's buffers. */
uint64_t world_send_bytes(const struct world *world, int rank);
uint64_t world_recv_bytes(const struct world *world, int rank);

/* Inside the checker: the order that steps force on each other, over all ranks. */
struct graph {
	uint32_t n;          /* steps of all ranks; rank r's begin at base[r] */
	uint32_t *base;      /* [ranks + 1] */
	int *rank_of;        /* [n] */
	uint32_t *pred_first, *preds;
	uint32_t *order;     /* a topological order, and each step's place in it */
	uint32_t *place;
	uint32_t *partner;   /* of a receive: its send */
};

bool graph_build(struct world *world, struct graph *graph); /* false: a receive or a phase that never comes, or a cycle */
void graph_free(struct graph *graph);
const struct plan_step *graph_step(const struct world *world, const struct graph *graph, uint32_t id);

/* world_fail: notes what is wrong with step `id` of rank (id < 0: with the rank); returns false. */
bool world_fail(struct world *world, int rank, long id, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* An access as the checker sees it: SEND and RECV of an in-place call are one space. */
struct access {
	uint32_t space; /* rank * 4 + enum plan_buf */
	uint32_t id;
	uint64_t off, len;
	bool write;
};
struct access access_of(const struct world *world, int rank, struct plan_ref ref, uint64_t len, uint32_t id, bool write);

#endif
