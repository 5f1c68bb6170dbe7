/* SPDX-License-Identifier: MIT */
/* alltoallv as a script: a rank knows its own counts only, so those of all are gathered before its plan can be
 * built. */
#ifndef API_ALLTOALLV_SCRIPT_H
#define API_ALLTOALLV_SCRIPT_H

#include "api/options.h"
#include "api/vector.h"
#include "exec/script.h"

/* alltoallv_script_create: a script for checked arguments.  The comm outlives it, the rest is copied.  The caller runs
 * ops_p->destroy at the end.  NO_MEMORY. */
struct alltoallv_script_args {
	uint64_t elem_bytes;
	const struct vector *send, *recv;
	struct dev_access send_access, recv_access;
	const choir_comm *comm;
	struct dense_options options;
};
choir_status alltoallv_script_create(const struct script_env *env, const struct alltoallv_script_args *call,
                                     const struct script_ops **ops_p, void **state_p);

/* alltoallv_script_algorithm: what runs, NULL while undecided.  alltoallv_script_matrix: [2][n][n] the bytes that
 * each rank (row) sends to each, and where they lie in its SEND, if it is over. */
const struct algorithm *alltoallv_script_algorithm(const void *state);
const uint64_t *alltoallv_script_matrix(const void *state);

#endif
