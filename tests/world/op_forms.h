/* SPDX-License-Identifier: MIT */
/* Every form of a dense call that takes an operator, with the memory of one call on one rank, for the operator of
 * world/affine.h. */
#ifndef TESTS_OP_FORMS_H
#define TESTS_OP_FORMS_H

#include "algo/collective.h"
#include "world/memory.h"

enum { OP_TENSORS = 3, OP_MOST_RANKS = 8, N_OP_FORMS = 11 };

/* With request_p a request is made, else the call. */
struct op_asked {
	choir_comm *comm;
	const choir_tensor *list;
	choir_op op;
	int root;
	const size_t *blocks;
	const choir_call *call;
	choir_event **event_p;
	choir_request **request_p;
};

struct op_form {
	const char *name;
	enum collective collective;
	bool list, padded, scatters, uneven;
	choir_status (*call)(const struct op_asked *a);
};
extern const struct op_form op_forms[N_OP_FORMS];

struct op_set {
	const struct op_form *form;
	int n, rank, root;
	size_t blocks[OP_MOST_RANKS]; /* of reduce_scatterv */
	struct memory send[OP_TENSORS], recv[OP_TENSORS];
	choir_tensor list[OP_TENSORS];
};

/* op_set_make: memory of one form; op_set_fill: this rank's input, before each call; op_set_is_right: what came out. */
void op_set_make(struct op_set *set, struct world *world, int rank, const struct op_form *form, bool on_device);
void op_set_free(struct op_set *set);
void op_set_fill(struct op_set *set);
bool op_set_is_right(struct op_set *set);

/* op_asked_of: the arguments of a blocking call. */
struct op_asked op_asked_of(const struct op_set *set, choir_comm *comm, choir_op op, const choir_call *call);

#endif
