/* SPDX-License-Identifier: MIT */
/* Reductions, twice: as host loops and as OpenCL kernels, both made from cl/ops.h, with the same bits. */
#ifndef KERN_REDUCE_H
#define KERN_REDUCE_H

#include "dev/dev.h"

#include <stdint.h>

/* What is to be computed: dst = final(src[0] op src[1] op ...), a left fold in that order.  f16 and bf16 accumulate in
 * f32 and round once. */
struct reduce_call {
	choir_dtype dtype;
	choir_op op;
	uint32_t n_src;
	/* sources raw_from .. n_src-1 are original values (square_add squares them); n_src = none, 0 = all */
	uint32_t raw_from;
	bool final;           /* apply the operator's final expression (mean: divide by n_ranks) */
	int n_ranks;
	/* premul_sum multiplies original values by it, in the precision that dtype accumulates in */
	double factor;
	uint32_t n_dst;       /* destinations, at least 1: all get the result, in one pass over the sources */
	/* destinations stream_from .. n_dst-1 are written past the cache; n_dst = none, 0 = all */
	uint32_t stream_from;
	bool fence_later;     /* the caller issues the store fence (base/copy.h), after many such calls */
	uint64_t count;       /* elements */
};

/* reduce_supported: is (dtype, op) defined?  UNSUPPORTED with a sentence if not (logical_and of f32, band of
 * floats). */
choir_status reduce_supported(choir_dtype dtype, choir_op op);

/* reduce_has_final: does op have a final expression (mean)? */
bool reduce_has_final(choir_op op);

/* reduce_host: on this thread.  Each dst may be exactly one of the sources, or overlap none; destinations do not
 * overlap each other.  n_src >= 1, n_dst >= 1.  Where it wrote past the cache it has issued the store fence when it
 * returns, unless fence_later: a release store then publishes the result.  The thread's floating-point control word
 * does not matter.  Cannot fail for a supported (dtype, op). */
void reduce_host(const struct reduce_call *call, void *const *dst, const void *const *src);

/* reduce_identity: writes one element of op's identity (sum 0, prod 1, min +inf or the type's largest, ...). */
void reduce_identity(choir_dtype dtype, choir_op op, void *out);

/* reduce_kernel_start: the same on the device.  Operands are cl_mem + byte offset.  Enqueues on the device's internal
 * queue; builds the program at first use (seconds).  Many sources are folded in several launches.  One destination:
 * ARGUMENT if n_dst is not 1. */
struct reduce_operand {
	cl_mem mem;
	uint64_t off;
};
choir_status reduce_kernel_start(choir_device *device, const struct reduce_call *call, struct reduce_operand dst,
                                 const struct reduce_operand *src, cl_event *event_p);

/* reduce_kernel_supported: can this device's kernel give the host's bits?  UNSUPPORTED with a sentence if not (no fp64;
 * inexact division for mean): reduce on the host then.  Enqueues nothing, builds nothing. */
choir_status reduce_kernel_supported(choir_device *device, choir_dtype dtype, choir_op op);

/* reduce_kernel_warm: builds it.  Blocks for the build. */
choir_status reduce_kernel_warm(choir_device *device, choir_dtype dtype, choir_op op);

#endif
