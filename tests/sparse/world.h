/* SPDX-License-Identifier: MIT */
/* All ranks' scripts in one process, without the engine: their plans run step by step, in program order on each rank,
 * and bounds are checked. */
#ifndef TESTS_SPARSE_WORLD_H
#define TESTS_SPARSE_WORLD_H

#include "sparse/sparse.h"

struct world {
	int n, n_nodes;
	struct layout layout;
	int *numbers; /* the layout's arrays */
	choir_device *device;
	choir_device *other_device; /* of odd ranks */
	uint64_t slot_bytes;
	struct choice_memory *memories; /* [n], or NULL */
	const struct link_costs *costs; /* [n], or NULL */
	const struct nt_choice *nt;     /* [n], or NULL */
};

/* One rank's script and how it ended. */
struct world_rank {
	struct sparse_call call;
	const struct script_ops *ops;
	void *state;
	choir_status status;
	bool failure_is_local, over;
	char error[ERROR_TEXT_BYTES];
	struct sparse_result *result; /* taken after CAPACITY */
	const char *algorithm;
	struct script_turn turn;
};

/* world_init: rank r sits on node r % n_nodes. */
void world_init(struct world *world, int n, int n_nodes, choir_device *device);
void world_fini(struct world *world);

/* world_run: scripts for ranks[r].call, r < n, until all are over; then destroyed.  Fails the test if the plans do not
 * fit each other. */
void world_run(struct world *world, struct world_rank *ranks);

#endif
