/* SPDX-License-Identifier: MIT */
/* The choice of the method, and its time, for lists of which only the lengths are known. */
#include "base/float_control.h"
#include "sparse/state.h"

static void suppose(struct sparse *sparse)
{
	uint64_t pairs = sparse->call.send_ind_count;

	sparse->facts = (struct sparse_facts){ .pairs = pairs * (uint64_t)sparse->env.layout->n,
		                               .most = pairs,
		                               .least = pairs,
		                               .width = 1,
		                               .range = { .lo = 0, .hi = INT32_MAX },
		                               .algorithm = sparse->forced,
		                               .shared = sparse->shares,
		                               .on_device = sparse->stays,
		                               .user = sparse->user,
		                               .last = -1 };
}

choir_status sparse_predict(void *state, double *seconds_p, const char **algorithm_p)
{
	struct sparse *sparse = state;
	uint64_t control = float_control_begin();
	struct sparse_choice choice;
	struct cost cost;
	choir_status st;

	suppose(sparse);
	cost = cost_of(&sparse->facts, sparse->env.layout, sparse->wire_dtype, sparse->call.op);
	st = sparse_method_choose(&sparse->facts, &cost, sparse->env.costs, sparse->call.attr.coalesce_mode, &choice);
	if (st == CHOIR_SUCCESS) {
		*seconds_p = choice.ns / 1e9;
		*algorithm_p = choice.method->name;
	}
	float_control_end(control);
	return st;
}
