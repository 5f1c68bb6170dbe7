/* SPDX-License-Identifier: MIT */
/* Reductions, as host loops and as OpenCL kernels.  Both are made from cl/ops.h and give the same bits. */
#ifndef KERN_REDUCE_H
#define KERN_REDUCE_H

#include "base/user_op.h"
#include "dev/dev.h"

#include <stdint.h>

/* A reduction: dst = final(src[0] op src[1] op ...), folded from left to right.  Narrow types accumulate in f32 and
 * round once. */
struct reduce_call {
	choir_dtype dtype;
	choir_op op;
	uint32_t n_src;
	/* sources raw_from .. n_src-1 are original values (OPS(raw) in cl/ops.h changes them); n_src = none, 0 = all */
	uint32_t raw_from;
	bool final; /* apply the operator's final expression (mean: divide by n_ranks) */
	int n_ranks;
	/* premul_sum multiplies original values by it, in the precision that dtype accumulates in */
	double factor;
	uint32_t n_dst; /* destinations, at least 1: all get the result, in one pass over the sources */
	/* destinations nt_from .. n_dst-1 are written by non-temporal stores; n_dst = none, 0 = all */
	uint32_t nt_from;
	bool fence_later; /* the caller issues the store fence (base/copy.h), after many such calls */
	uint64_t count;   /* elements */
	/* of the caller's, whose functions reduce on the host; NULL = op is the library's */
	const struct user_op *user;
};

/* reduce_supported: SUCCESS if (dtype, op) is defined; UNSUPPORTED if not (logical_and of f32); ARGUMENT for unknown
 * numbers, and for an operator of the caller's that is destroyed. */
choir_status reduce_supported(choir_dtype dtype, choir_op op);

/* reduce_possible: reduce_supported, and this device can do it: an operator of texts alone needs kernels. */
choir_status reduce_possible(choir_device *device, choir_dtype dtype, choir_op op);

/* reduce_user_supported: SUCCESS if an operator of the caller's is for that type, else UNSUPPORTED. */
choir_status reduce_user_supported(const struct user_op *op, choir_dtype dtype);

/* reduce_is_exact: true if every order and grouping of the sources gives the same bits (integers). */
bool reduce_is_exact(choir_dtype dtype, choir_op op);

/* reduce_has_final: true if op has a final expression (mean).  reduce_has_raw: true if original values change before
 * they are folded, whatever the factor (square_add, logical operators). */
bool reduce_has_final(choir_op op);
bool reduce_has_raw(choir_op op);

/* reduce_host: reduces on this thread, by an operator of the library's.  n_src >= 1, n_dst >= 1.  Each dst is exactly
 * one of the sources or overlaps none; destinations do not overlap each other.  After nt stores it issues the store
 * fence, unless fence_later, so that a release store publishes the result.  The thread's floating-point control word
 * does not matter.  Cannot fail for a supported (dtype, op). */
void reduce_host(const struct reduce_call *call, void *const *dst, const void *const *src);

/* reduce_identity: writes one element of op's identity (sum 0, prod 1, min +inf or the type's largest, ...). */
void reduce_identity(choir_dtype dtype, choir_op op, void *out);

/* reduce_kernel_start: the same on the device; operands are a cl_mem and an offset in bytes.  Enqueues on the device's
 * internal queue; the first use blocks for the build of the program (seconds).  More than 8 sources take several
 * launches.  ARGUMENT if n_dst is not 1. */
struct reduce_operand {
	cl_mem mem;
	uint64_t off;
};
choir_status reduce_kernel_start(choir_device *device, const struct reduce_call *call, struct reduce_operand dst,
                                 const struct reduce_operand *src, cl_event *event_p);

/* reduce_kernel_supported: SUCCESS if this device's kernel gives the host's bits, else UNSUPPORTED (no fp64; inexact
 * division for mean; f32 denormals that become 0): reduce on the host then.  An operator that has no host function may
 * lose denormals.  Enqueues nothing, builds nothing. */
choir_status reduce_kernel_supported(choir_device *device, choir_dtype dtype, choir_op op);

/* reduce_kernel_warm: builds the program of (dtype, op).  Blocks for the build.  ARGUMENT with the compiler's words if
 * the text of an operator of the caller's does not compile. */
choir_status reduce_kernel_warm(choir_device *device, choir_dtype dtype, choir_op op);

/* reduce_dtype_option: the value of -D DTYPE=.  reduce_op_option: the value of -D OP= of an operator that the caller of
 * this function holds, into text. */
enum { REDUCE_OP_OPTION_BYTES = 48 };
const char *reduce_dtype_option(choir_dtype dtype);
const char *reduce_op_option(choir_op op, char text[REDUCE_OP_OPTION_BYTES]);

#endif
