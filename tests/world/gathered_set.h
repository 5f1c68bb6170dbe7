/* SPDX-License-Identifier: MIT */
/* Lists of whole cl_mems for each collective of lists: their bytes, and what is right. */
#ifndef TESTS_GATHERED_SET_H
#define TESTS_GATHERED_SET_H

#include "world/world.h"

enum gathered_form { ALLREDUCE, REDUCE_SCATTER, ALLGATHER, BROADCAST, REDUCE, SCATTER_PADDED, GATHER_PADDED, N_FORMS };
enum { TENSORS = 37, LONGEST = 1000, MOST_RANKS = 3, LAUNCHES = (TENSORS + 15) / 16 };

struct gathered_shape {
	enum gathered_form form;
	choir_dtype dtype;
	bool in_place;
	const char *options;
	int root;
};

/* A rank's tensors, each side a cl_mem of its own.  They fill it, so nothing but them can change. */
struct gathered_set {
	struct gathered_shape shape;
	int rank, n;
	cl_command_queue queue;
	cl_mem mems[TENSORS][2];
	size_t bytes[TENSORS][2]; /* 0 = no such buffer */
	choir_tensor tensors[TENSORS];
};

/* gathered_set_make: for the set's shape, rank and n; false: OpenCL refuses.  gathered_set_drop: frees it. */
bool gathered_set_make(struct gathered_set *set, choir_device *device);
void gathered_set_drop(struct gathered_set *set);

/* gathered_set_fill: what the rank sends, and junk where it receives.  gathered_set_call: the collective of the shape.
 * gathered_set_wrong: the first tensor that is wrong, or -1; what is sent stays as it is. */
void gathered_set_fill(struct gathered_set *set);
choir_status gathered_set_call(struct gathered_set *set, choir_comm *comm, const choir_call *call,
                               choir_event **event_p);
int gathered_set_wrong(const struct gathered_set *set);

#endif
