/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own. */
#ifndef CHOIR_OP_H
#define CHOIR_OP_H

#include <choir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of an operator.  They run on any thread that reduces, several at once; they must not block, nor call
 * choir but as below.  data, acc and src are aligned to their elements.  Elements of types that accumulate in f32 (f16,
 * bf16, f8e4m3, f8e5m2) come as f32, and dtype is CHOIR_F32 then; others come as they are stored.
 *
 * A function that cannot do its work calls choir_comm_abort, of every comm of its process that may be calling: then a
 * dense call is ABORTED on all ranks that would have read what was not folded.
 *
 * choir_op_fold_fn: acc[i] = acc[i] op src[i], i < count, without overlap; acc: the lower ranks, or any if commutative.
 * choir_op_each_fn: changes count elements in place.  ranks: the comm's; 1 in choir_coalesce_rows. */
typedef void (*choir_op_fold_fn)(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype);
typedef void (*choir_op_each_fn)(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype);

/* An operator as functions for the host, as OpenCL C text for kernels, or as both, which then must compute the same.
 * Each text is an expression of type ACC: the element's type, or float for types that accumulate in f32.  raw and final
 * are given in each form that fold is given in, or in none.  The texts and the name are copied. */
typedef struct choir_op_config {
	size_t struct_size;        /* sizeof(choir_op_config) */
	const char *name;          /* for sentences: 1 to 31 printable characters without quotes and backslashes */
	choir_op_fold_fn fold;     /* associative */
	choir_op_each_fn raw;      /* applied once to each rank's values before they are folded; NULL: nothing */
	choir_op_each_fn final;    /* applied once to each element of the result; NULL: nothing */
	choir_op_each_fn identity; /* writes the e with e op x = x op e = x; no result depends on it; NULL: none */
	void *ctx;                 /* of the functions */
	/* before the expressions: functions that they call, of any name but choir_*, op_*, ops_*, user_* and those of
	 * kernels (reduce_*, segment_*, merge_*, cells_*); macros have a capital letter, and are not ACC, ELEM, OPS_*
	 * or USER_*; NULL: nothing */
	const char *source;
	const char *fold_text;     /* of ACC a and b: "a + b" */
	const char *raw_text;      /* of ACC a: "fabs(a)" */
	const char *final_text;    /* of ACC a and int n, the ranks: "sqrt(a)" */
	const char *identity_text; /* "0" */
	/* 1: operands may be swapped; 0: only algorithms that fold in rank order are taken, others are ARGUMENT */
	int commutative;
	uint64_t dtypes; /* bit 1 << CHOIR_F32 and so on: the data types that it is for; 0: all */
} choir_op_config;
#define CHOIR_OP_CONFIG_INIT                                                                                           \
	{                                                                                                              \
		sizeof(choir_op_config), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0        \
	}

/* choir_op_create: *op_p is an operator of this process, for all comms: dense reductions, scans (without final), lists,
 * persistent calls, sparse_allreduce and choir_coalesce_rows.  Other ranks give operators of their own that have the
 * same name, texts, commutative, data types and set of functions; ranks that differ get a MISMATCH.
 *
 * The functions run where the host reduces, the texts where kernels do.  With functions alone the host always reduces;
 * with texts alone kernels always do, and a device that cannot is UNSUPPORTED.  Texts are compiled when a call is
 * prepared that needs them, or by choir_comm_warm; ARGUMENT with the compiler's words if they do not compile.
 *
 * Any thread; does not block.  ARGUMENT naming the member, NO_MEMORY. */
CHOIR_API choir_status choir_op_create(const choir_op_config *config, choir_op *op_p);

/* choir_op_destroy: later calls with the operator are ARGUMENT.  Calls under way go on with it, so functions and ctx
 * must live until they have ended; free persistent calls of it first.  Any thread; does not block.  ARGUMENT for an
 * operator of the library's and one that is destroyed. */
CHOIR_API choir_status choir_op_destroy(choir_op op);

#ifdef __cplusplus
}
#endif

#endif
