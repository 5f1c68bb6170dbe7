/* SPDX-License-Identifier: MIT */
#include "api/forecast.h"

#include "api/sparse_call.h"

static choir_status predict(choir_comm *comm, const struct sparse_call *sparse, double *seconds_p,
                            const char **algorithm_p)
{
	struct script_env env = script_env_of(comm);
	const struct script_ops *ops;
	choir_status st;
	void *state;

	TRY(sparse_create(&env, sparse, &ops, &state));
	st = sparse_predict(state, seconds_p, algorithm_p);
	ops->destroy(state);
	return st;
}

choir_status forecast_sparse(choir_comm *comm, const struct call_key *key, const choir_call *call, double *seconds_p,
                             const char **algorithm_p)
{
	enum { MOST_PAIR_BYTES = 32 };
	char algorithm[OPTIONS_VALUE_BYTES];
	struct sparse_call sparse = { .send_ind_count = key->count,
		                      .send_val_count = key->count,
		                      .ind_dtype = CHOIR_I32,
		                      .val_dtype = key->dtype,
		                      .op = key->op,
		                      .factor = key->factor,
		                      .attr = CHOIR_SPARSE_ATTR_INIT };

	if (key->count > INT64_MAX / MOST_PAIR_BYTES / (uint64_t)comm->n)
		return error_set(CHOIR_ARGUMENT, "sparse_allreduce: %zu pairs on %d ranks are more than 2^63 bytes",
		                 key->count, comm->n);
	TRY(sparse_call_read("sparse_allreduce", comm, call, &sparse, algorithm));
	return predict(comm, &sparse, seconds_p, algorithm_p);
}
