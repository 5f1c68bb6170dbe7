/* SPDX-License-Identifier: MIT */
/* Top-k gradients (<choir/topk.h>): states. */
#include "api/topk_state.h"

#include "api/call.h"
#include "api/topk_config.h"

#include "base/fork.h"
#include "topk/algorithm.h"

#include <stdlib.h>

static choir_status create(choir_comm *comm, const struct topk_settings *settings, choir_topk_state **out_p)
{
	choir_topk_state *made = calloc(1, sizeof *made);
	choir_status st;

	if (made == NULL)
		return error_no_memory("a top-k state", sizeof *made);
	st = topk_state_create(settings, comm->device, comm->n, comm->rank, &made->state);
	if (st != CHOIR_SUCCESS) {
		free(made);
		return st;
	}
	made->comm = comm_retain(comm);
	*out_p = made;
	return CHOIR_SUCCESS;
}

choir_status choir_topk_create(choir_comm *comm, const choir_topk_config *config, choir_topk_state **out_p)
{
	struct topk_settings settings;
	choir_topk_config read = CHOIR_TOPK_CONFIG_INIT;

	TRY(call_check_comm("choir_topk_create", comm));
	if (out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_create: null out_p");
	TRY(call_read_struct("choir_topk_create", "config", "CHOIR_TOPK_CONFIG_INIT", config, &read, sizeof read));
	TRY(topk_config_settings(&read, &settings));
	if (comm->order_ranks && settings.algorithm->regroups)
		return error_set(
		    CHOIR_ARGUMENT,
		    "choir_topk_create: algorithm '%s' adds lists in pairs of ranks, and the comm's order is "
		    "that of the ranks",
		    settings.algorithm->name);
	return create(comm, &settings, out_p);
}

void choir_topk_destroy(choir_topk_state *state)
{
	if (state == NULL || state->comm->generation != fork_generation())
		return; /* the OpenCL objects of a forked child are its parent's */
	topk_state_release(state->state);
	comm_release(state->comm);
	free(state);
}

choir_status topk_check_state(const char *call, const choir_topk_state *state)
{
	if (state == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null state", call);
	return state->comm->generation == fork_generation()
	           ? CHOIR_SUCCESS
	           : error_set(CHOIR_ARGUMENT, "%s: the state belongs to the process before fork", call);
}

choir_status choir_topk_reset(choir_topk_state *state)
{
	TRY(topk_check_state("choir_topk_reset", state));
	return topk_state_reset("choir_topk_reset", state->state);
}

choir_status choir_topk_export(choir_topk_state *state, void *bytes, size_t *bytes_p)
{
	TRY(topk_check_state("choir_topk_export", state));
	if (bytes_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_export: null bytes_p");
	return topk_state_export("choir_topk_export", state->state, bytes, bytes_p);
}

choir_status choir_topk_import(choir_topk_state *state, const void *bytes, size_t n_bytes)
{
	TRY(topk_check_state("choir_topk_import", state));
	if (bytes == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_import: null bytes");
	return topk_state_import("choir_topk_import", state->state, bytes, n_bytes);
}

choir_status choir_topk_residual(choir_topk_state *state, void *to)
{
	TRY(topk_check_state("choir_topk_residual", state));
	if (to == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_residual: null to");
	return topk_state_residual("choir_topk_residual", state->state, to);
}
