/* SPDX-License-Identifier: MIT */
/* Sparse allreduce as a script: what api checks, starts, and fetches from. */
#ifndef SPARSE_SPARSE_H
#define SPARSE_SPARSE_H

#include "exec/script.h"

#include <choir/sparse.h>

/* One rank's call.  Buffers are not owned; their contents belong to the script until it is done. */
struct sparse_call {
	choir_buffer send_ind, send_val, recv_ind, recv_val;
	size_t send_ind_count, send_val_count;
	/* written with the result: an earlier call of the same request may do so until then; NULL is legal with a
	 * callback */
	size_t *recv_ind_count, *recv_val_count;
	size_t ind_capacity, val_capacity; /* of the receive buffers; 0 without */
	choir_dtype ind_dtype, val_dtype;
	choir_op op;
	double factor;          /* of premul_sum: what this rank's rows are multiplied by */
	choir_sparse_attr attr; /* the caller's, or CHOIR_SPARSE_ATTR_INIT */
	/* of the call, NULL; what calls of one name did is remembered (until sparse_create returns) */
	const char *name;
	/* a name of sparse_methods (a constant or the caller's until sparse_create returns); NULL = gathered numbers
	 * decide */
	const char *algorithm;
};

/* sparse_values_defined: SUCCESS if rows of dtype are combined by op, else UNSUPPORTED. */
choir_status sparse_values_defined(choir_dtype dtype, choir_op op);

/* sparse_values_possible: sparse_values_defined, and this device can do it: an operator of texts alone needs kernels.
 */
choir_status sparse_values_possible(choir_device *device, choir_dtype dtype, choir_op op);

/* sparse_check_types: the part of sparse_check that needs no buffer: data types, operator, attr, algorithm. */
choir_status sparse_check_types(const struct sparse_call *call);

/* sparse_check: every argument, before anything is sent.  ARGUMENT or UNSUPPORTED with a sentence naming the value.
 * Enqueues nothing. */
choir_status sparse_check(choir_device *device, int n_ranks, const struct sparse_call *call);

/* sparse_agreement: a hash of the arguments that must be the same on all ranks (dtypes, op, mode, algorithm), for the
 * record of the call.  Counts and the way the result is wanted are each rank's own; row widths are compared by the
 * script, since an empty rank has none. */
uint64_t sparse_agreement(const struct sparse_call *call);

/* sparse_create: a script for a checked call.  env is copied (the layout it points to is not); the call is copied.
 * Does not touch the buffers' bytes: next does, once deps are complete.  The caller runs ops_p->destroy at the end.
 * NO_MEMORY. */
choir_status sparse_create(const struct script_env *env, const struct sparse_call *call,
                           const struct script_ops **ops_p, void **state_p);

/* sparse_predict: for a script that was created and will not run: the predicted seconds of its exchange, and the
 * constant name of its method, if all ranks have as many pairs as this one, coalesced, and their indices are spread
 * evenly over 0 to 2^31 - 1.  What the comm remembers of such calls has no say.  UNSUPPORTED. */
choir_status sparse_predict(void *state, double *seconds_p, const char **algorithm_p);

/* sparse_algorithm: the constant name of what runs, "" while undecided. */
const char *sparse_algorithm(const void *state);

/* sparse_stats: of what ran so far; all but wire_bytes.  out->struct_size is not looked at. */
void sparse_stats(const void *state, choir_sparse_stats *out);

/* The result of a call that ended with CAPACITY: host memory of ours, reference counted by its one owner, independent
 * of state and comm (it retains the device). */
struct sparse_result;

/* sparse_take_result: after next returned CAPACITY and before destroy: the result, now the caller's; NULL if there is
 * none. */
struct sparse_result *sparse_take_result(void *state);

/* sparse_result_fetch: copies it to larger buffers.  *ind_count and *val_count: capacities in, counts out (also with
 * CAPACITY, when nothing is written).  Blocks for the copy; any thread.  ARGUMENT, CAPACITY, OPENCL. */
choir_status sparse_result_fetch(struct sparse_result *result, choir_buffer recv_ind, size_t *ind_count,
                                 choir_buffer recv_val, size_t *val_count);

/* NULL is silent. */
void sparse_result_free(struct sparse_result *result);

#endif
