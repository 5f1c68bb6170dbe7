/* SPDX-License-Identifier: MIT */
/* Error feedback: what src/topk/vector_type.inc does on the host, with the same bits.
 * Options: DTYPE = F16, BF16, F32 or F64, of the gradient, and OP = SUM (ops.h); GROUP, SPAN (walk.h); INDEX = int or
 * long, the type of the indices of a list; MOMENTUM = 1 with momentum; NANS = 1 to look for a NaN. */
#include "ops.h"

#include "walk.h"

#ifndef INDEX
#error "INDEX: int or long"
#endif
#ifndef MOMENTUM
#error "MOMENTUM: 0 or 1"
#endif
#ifndef NANS
#error "NANS: 0 or 1"
#endif

/* acc = decay * residual + u with u = scale * grad, or momentum * old + scale * grad, which goes to velocity.  nan_at:
 * lowered to the first position of a NaN in acc.  old, velocity, nan_at are not used without their options. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void accumulate(__global const ELEM *grad, ulong grad_at, ulong n, __global const ACC *residual,
                __global const ACC *old, ACC decay, ACC scale, ACC momentum, __global ACC *acc,
                __global ACC *velocity, __global uint *nan_at)
{
	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at)) {
		ACC step = scale * OPS(load)(grad, grad_at + at.i);

		if (MOMENTUM) {
			step = momentum * old[at.i] + step;
			velocity[at.i] = step;
		}
		step = decay * residual[at.i] + step;
		acc[at.i] = step;
		if (NANS && isnan(step))
			atomic_min(nan_at, (uint)at.i);
	}
}

/* Adds the pairs of a list of distinct indices to acc. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void accumulate_list(__global const INDEX *ind, __global const ACC *val, ulong n, __global ACC *acc)
{
	for (walk at = walk_from(n, 1); at.i < at.end; at = walk_on(at))
		acc[ind[at.i]] += val[at.i];
}
