/* SPDX-License-Identifier: MIT */
/* Builds all ranks' plans of one collective, for the plan checker (plan/plan_check.h). */
#ifndef TESTS_PLAN_CHECKER_H
#define TESTS_PLAN_CHECKER_H

#include "algo/algo.h"

/* What is to be built; all ranks alike but for `me`. */
struct check_case {
	int n;
	const int *node_of; /* [n], NULL = one node */
	uint64_t elem_bytes, bytes;
	const uint64_t *block_bytes;
	bool displaced; /* allgatherv, alltoallv: each rank wants the blocks in another order, with gaps */
	int root;       /* p2p: the receiver; rank 0 sends */
	bool in_place;
	bool in_place_start; /* reduce_scatter: RECV is the start of SEND, not block me */
	bool send_staged, recv_staged;
	bool odd_staged; /* of the odd ranks only */
	uint64_t slot_bytes, message_bytes, device_bytes;
	bool scaled;   /* premul_sum, where the algorithm scales by itself */
	bool lists;    /* on the device: SEND and RECV are lists of buffers */
	uint8_t order; /* of rings: a ring_order */
};

struct world {
	int n;
	const struct algorithm *algorithm;
	struct layout layout;
	struct algo_in *ins;
	struct plan *plans;
	uint64_t *displacements;      /* [n * n] */
	uint64_t *send_displacements; /* [n * n] alltoallv */
	char why[512];                /* the first thing found wrong */
};

/* layout_make, layout_free: a layout with the given node of each rank (NULL = all on one). */
struct layout layout_make(int n, const int *node_of);
void layout_free(struct layout *layout);

/* checker_build: false if the algorithm does not take the case (why says so) or a builder failed; world_free either
 * way. */
bool checker_build(const struct algorithm *algorithm, const struct check_case *c, struct world *world);
void world_free(struct world *world);

/* checker_verify, checker_run: plan_check and plan_prove of the world as it is now; false: why says what is wrong. */
bool checker_verify(struct world *world);
bool checker_run(struct world *world, unsigned seed);

/* checker_folds: checker_run, with that order in place of the one that the algorithm promises. */
bool checker_folds(struct world *world, enum plan_order order, unsigned seed);

#endif
