/* SPDX-License-Identifier: MIT */
/* Whole tensors of ranks and their chunks, whose right values are known. */
#ifndef TESTS_WORLD_CHUNK_SET_H
#define TESTS_WORLD_CHUNK_SET_H

#include "world/memory.h"
#include "world/world.h"

enum { MOST_RANKS = 8 };

struct chunk_shape {
	size_t count;
	bool even, on_device, in_place, with_event, reversed; /* reversed: comms[i] is rank n - 1 - i */
	int turn;                                             /* chunks[i] has index (i + turn) mod n */
	const char *options;                                  /* of the reduce_scatter */
	const char *method;                                   /* of the reduce_scatter and the allgather */
	const char *scatter_name, *gather_name;               /* with method: the algorithms that they take */
};

struct chunk_set {
	const struct chunk_shape *shape;
	int n;
	choir_comm *comms[MOST_RANKS];
	struct memory wholes[MOST_RANKS], parts[MOST_RANKS];
	choir_buffer buffers[MOST_RANKS]; /* of the wholes */
	choir_chunk chunk[MOST_RANKS];
	choir_chunks chunks;
};

/* chunk_set_make: for that world; the shape must outlive it.  chunk_set_drop: frees it. */
void chunk_set_make(struct chunk_set *set, struct world *world, const struct chunk_shape *shape);
void chunk_set_drop(struct chunk_set *set);

/* chunk_set_fill: own: each rank's values, else -1.  chunk_set_check_whole: the whole of comms[i] holds the sums. */
void chunk_set_fill(struct chunk_set *set, bool own);
void chunk_set_check_whole(struct chunk_set *set, int i);

/* chunk_set_run: reduce_scatter, concat, allgather and allreduce_local of that shape give the right values. */
void chunk_set_run(struct world *world, const struct chunk_shape *shape);

#endif
