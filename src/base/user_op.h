/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own, by their numbers: those of op.def end far below USER_OP_FIRST. */
#ifndef BASE_USER_OP_H
#define BASE_USER_OP_H

#include "base/error.h"

#include <choir/op.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { USER_OP_FIRST = 1 << 20, USER_OP_NAME_BYTES = 32 };

struct user_op {
	_Atomic int refs;
	choir_op number;
	bool destroyed; /* no new call finds it */
	char name[USER_OP_NAME_BYTES];
	choir_op_config config; /* functions and flags; its texts point nowhere */
	bool has_raw, has_final;
	char *text; /* the definitions that cl/ops.h wants; NULL = functions alone */
	uint64_t text_hash;
	uint32_t hash;        /* of what ranks must have alike */
	struct user_op *next; /* in the list of those that somebody holds */
};

static inline bool user_op_is(choir_op op)
{
	return op >= USER_OP_FIRST;
}

/* user_op_has_texts_alone: only kernels can fold by it; false for NULL, an operator of the library's. */
static inline bool user_op_has_texts_alone(const struct user_op *op)
{
	return op != NULL && op->config.fold == NULL;
}

/* user_op_add: of a config that was checked.  NO_MEMORY, and ARGUMENT after 2^30 operators.
 * user_op_remove: no new call finds it; ARGUMENT if there is none of that number. */
choir_status user_op_add(const choir_op_config *config, choir_op *op_p);
choir_status user_op_remove(choir_op op);

/* user_op_find: a reference for a new call; ARGUMENT naming the call if there is none, or it is destroyed.
 * user_op_release: NULL is silent. */
choir_status user_op_find(const char *call, choir_op op, struct user_op **out_p);
void user_op_release(struct user_op *op);

/* user_op_held: of a call under way, which holds it; NULL for an operator of the library's. */
const struct user_op *user_op_held(choir_op op);

/* user_op_text: a reference to one with that text; NULL if there is none. */
struct user_op *user_op_text(uint64_t text_hash);

/* user_op_code: what ranks send of an operator: its number, or of the caller's USER_OP_FIRST + 30 bits of its hash.
 * user_op_code_name: "affine [5f3a21bc]", or "operator [5f3a21bc]" of one that this process has not, into text. */
choir_op user_op_code(choir_op op);
enum { USER_OP_CODE_BYTES = USER_OP_NAME_BYTES + 16 };
const char *user_op_code_name(choir_op code, char text[USER_OP_CODE_BYTES]);

#endif
