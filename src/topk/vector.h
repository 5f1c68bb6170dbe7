/* SPDX-License-Identifier: MIT */
/* Loops over tensors in work: f32 or f64.  Host. */
#ifndef TOPK_VECTOR_H
#define TOPK_VECTOR_H

#include "topk/list.h"

/* vector_accumulate: of n elements, acc = decay * residual + scale * grad; with velocity: velocity = momentum * old +
 * scale * grad, acc = decay * residual + velocity.  grad is in work.  residual NULL: residual and old are zero. */
struct accumulation {
	const void *residual, *grad, *old_velocity;
	void *acc, *velocity; /* velocity NULL: no momentum */
	double decay, scale, momentum;
};
void vector_accumulate(choir_dtype work, uint64_t n, const struct accumulation *what);

/* vector_restart: makes the elements at n indices, less `from`, again, with a residual and an old velocity of zero. */
void vector_restart(const struct topk_types *types, const void *ind, uint64_t n, uint64_t from,
                    const struct accumulation *what);

/* vector_first_nan: its position; n if there is none. */
uint64_t vector_first_nan(const struct topk_types *types, const void *from);

/* vector_divide: n values by a number.  vector_add: adds a list to a tensor. */
void vector_divide(const struct topk_types *types, void *values, uint64_t n, double by);
void vector_add(const struct topk_types *types, void *tensor, const struct topk_list *list);

#endif
