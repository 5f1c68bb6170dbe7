/* SPDX-License-Identifier: MIT */
/* Lists of tensors for choir_allreduce_multi, dealt out over memory of several kinds, with bytes of nobody between them
 * and what is to come out of the call. */
#ifndef TESTS_TENSORS_H
#define TESTS_TENSORS_H

#include "lib/collective_data.h"
#include "world/memory.h"

enum { TENSORS_MOST = 300, TENSORS_POOLS = 4 };

enum tensors_where {
	TENSORS_HOST,
	TENSORS_DEVICE,     /* two cl_mems */
	TENSORS_MIXED,      /* host memory and two cl_mems */
	TENSORS_SHARE,      /* symmetric memory */
	TENSORS_SHARE_HOST, /* the same, but for a tensor of the last rank */
};

/* What a call is made of. */
struct tensors_shape {
	size_t n, low, high; /* counts, but for those that are empty */
	enum tensors_where where;
	choir_op op;
	int one_type; /* -1 = all that the operator has */
	const char *options;
	bool with_event, in_group, kept;
};

struct tensors {
	struct memory pools[TENSORS_POOLS];   /* host, two cl_mems, share */
	unsigned char *wanted[TENSORS_POOLS]; /* what they are to hold afterwards */
	size_t used[TENSORS_POOLS];
	choir_tensor list[TENSORS_MOST];
	size_t n;
	/* in the pools' shadows */
	unsigned char *send_at[TENSORS_MOST], *recv_at[TENSORS_MOST], *wanted_at[TENSORS_MOST];
	choir_request *request; /* of a shape that is kept: from its first call on */
	bool built;
	int rank, size;
	char algorithm[48]; /* that the call with an event says it ran */
};

/* A rank's share of symmetric memory: base NULL = there is none. */
struct tensors_share {
	void *base;
	size_t bytes;
};

void tensors_make(struct tensors *set, choir_comm *comm, choir_device *device, const struct tensors_shape *s,
                  struct tensors_share share);
void tensors_free(struct tensors *set);

/* tensors_fill: this rank's inputs, and what must come of them; everything else keeps its bytes.  Another shift: other
 * values. */
void tensors_fill(struct tensors *set, choir_op op, size_t shift);

/* tensors_data: tensor i's as check data of an allreduce, whose shape it sets. */
struct collective_data tensors_data(const struct tensors *set, size_t i, choir_op op, size_t shift,
                                    struct collective_shape *shape);

/* tensors_call: makes the call as the shape says, or starts the request, and waits for it. */
choir_status tensors_call(struct tensors *set, choir_comm *comm, const struct tensors_shape *s);
bool tensors_are_right(struct tensors *set);

/* tensors_run: all of that, twice: the second time the library knows the list.  Notes failures. */
void tensors_run(struct world *world, int rank, choir_comm *comm, const struct tensors_shape *s);

#endif
