/* SPDX-License-Identifier: MIT */
/* The cost models' time of a call.  Dense calls: the plans of all ranks, played through (plan/plan_cost.h).  Every
 * rank's buffers are taken to be where this rank's are, and none to be in place. */
#ifndef API_FORECAST_H
#define API_FORECAST_H

#include "api/dense.h"

/* forecast_dense: of a call that has no buffers yet: they are memory of the comm's device.  *algorithm_p: a constant
 * text.  ARGUMENT, UNSUPPORTED, NO_MEMORY. */
choir_status forecast_dense(struct dense *d, const choir_call *call, double *seconds_p, const char **algorithm_p);

/* forecast_sparse: of a sparse_allreduce of so many pairs of each rank, as sparse_predict supposes them. */
choir_status forecast_sparse(choir_comm *comm, const struct call_key *key, const choir_call *call, double *seconds_p,
                             const char **algorithm_p);

#endif
