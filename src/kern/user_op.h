/* SPDX-License-Identifier: MIT */
/* Reductions by the functions of an operator of the caller's. */
#ifndef KERN_USER_OP_H
#define KERN_USER_OP_H

#include "base/user_op.h"
#include "kern/reduce.h"

/* user_op_reduce: reduce_host by the functions, which call->user has.  swaps: the first two sources may be folded in
 * either order. */
void user_op_reduce(const struct reduce_call *call, bool swaps, void *const *dst, const void *const *src);

/* Elements as the functions see them: acc_dtype is f32 for types that accumulate in it, else dtype. */
struct user_op_elements {
	const struct user_op *op;
	choir_dtype dtype, acc_dtype;
	size_t bytes, acc_bytes;
	int n_ranks;
};
struct user_op_elements user_op_elements(const struct user_op *op, choir_dtype dtype, int n_ranks);

/* user_op_fold: folds n elements of memory into accumulators, of which they are the first values, or not; raw: they are
 * original values.  user_op_finish: n accumulators as elements, to `to`, which may be acc; final: changes acc. */
void user_op_fold(const struct user_op_elements *of, void *acc, const void *from, size_t n, bool raw, bool is_first);
void user_op_finish(const struct user_op_elements *of, void *to, void *acc, size_t n, bool final);

#endif
