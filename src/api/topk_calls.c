/* SPDX-License-Identifier: MIT */
/* Top-k gradients (<choir/topk.h>): states, and their calls as scripts of the topk room. */
#include "api/call.h"
#include "api/topk_config.h"

#include "exec/thread.h"

#include "topk/algorithm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choir_topk_state {
	struct topk_state *state;
	choir_comm *comm; /* a reference */
};

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
	if (state == NULL)
		return;
	topk_state_release(state->state);
	comm_release(state->comm);
	free(state);
}

static choir_status check_state(const char *call, const choir_topk_state *state)
{
	return state != NULL ? CHOIR_SUCCESS : error_set(CHOIR_ARGUMENT, "%s: null state", call);
}

choir_status choir_topk_reset(choir_topk_state *state)
{
	TRY(check_state("choir_topk_reset", state));
	return topk_state_reset("choir_topk_reset", state->state);
}

choir_status choir_topk_export(choir_topk_state *state, void *bytes, size_t *bytes_p)
{
	TRY(check_state("choir_topk_export", state));
	if (bytes_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_export: null bytes_p");
	return topk_state_export("choir_topk_export", state->state, bytes, bytes_p);
}

choir_status choir_topk_import(choir_topk_state *state, const void *bytes, size_t n_bytes)
{
	TRY(check_state("choir_topk_import", state));
	if (bytes == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_import: null bytes");
	return topk_state_import("choir_topk_import", state->state, bytes, n_bytes);
}

choir_status choir_topk_residual(choir_topk_state *state, void *to)
{
	TRY(check_state("choir_topk_residual", state));
	if (to == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_topk_residual: null to");
	return topk_state_residual("choir_topk_residual", state->state, to);
}

static const char function[] = "choir_topk_allreduce";

static bool is_given(choir_buffer buffer)
{
	return buffer.kind != CHOIR_BUFFER_NONE;
}

static choir_status check_unreduced(const char *name, const choir_topk_out *out,
                                    const struct topk_algorithm *algorithm)
{
	if (out->rank_pairs_p == NULL)
		return CHOIR_SUCCESS;
	if (!topk_algorithm_gathers(algorithm))
		return error_set(CHOIR_UNSUPPORTED,
		                 "%s: rank_pairs_p: %s does not give each rank the pairs of all others", name,
		                 algorithm->name);
	if (out->pairs_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: rank_pairs_p is given, but no pairs are asked for", name);
	return CHOIR_SUCCESS;
}

static choir_status check_out(const char *name, const choir_topk_out *out, uint64_t count)
{
	bool pairs = is_given(out->ind) || is_given(out->val) || out->pairs_p != NULL,
	     list = out->involved_pairs_p != NULL;

	if (!is_given(out->dense) && !pairs)
		return error_set(CHOIR_ARGUMENT, "%s: out asks neither for a dense result nor for pairs", name);
	if (pairs && out->pairs_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: out->pairs_p is null: pairs need their room", name);
	if (list && out->pairs_p == out->involved_pairs_p)
		return error_set(CHOIR_ARGUMENT, "%s: pairs_p and involved_pairs_p are the same variable", name);
	if ((pairs || list) && out->ind_dtype != CHOIR_I32 && out->ind_dtype != CHOIR_I64)
		return error_set(CHOIR_UNSUPPORTED, "%s: ind_dtype is %s: indices are i32 or i64", name,
		                 choir_dtype_name(out->ind_dtype));
	if ((pairs || list) && out->ind_dtype == CHOIR_I32 && count > (uint64_t)INT32_MAX + 1)
		return error_set(CHOIR_ARGUMENT, "%s: an i32 index cannot name each of %" PRIu64 " elements", name,
		                 count);
	return CHOIR_SUCCESS;
}

static struct operand operand_of(const char *role, choir_buffer buffer, uint64_t count, size_t elem_bytes, bool write)
{
	uint64_t bytes = count > UINT64_MAX / elem_bytes ? UINT64_MAX : count * elem_bytes;

	return (struct operand){ .role = role,
		                 .buffer = buffer,
		                 .bytes = bytes,
		                 .elem_bytes = (uint32_t)elem_bytes,
		                 .read = !write,
		                 .write = write };
}

static struct topk_request request_of(const struct topk_settings *settings, choir_buffer grad,
                                      const choir_topk_out *out)
{
	uint64_t count = settings->types.n, bits = (count + 31) / 32;
	size_t elem_bytes = choir_dtype_bytes(settings->dtype), ind_bytes = choir_dtype_bytes(out->ind_dtype);
	struct topk_request request = { .ind_dtype = out->ind_dtype,
		                        .pairs_p = out->pairs_p,
		                        .involved_p = out->involved_pairs_p,
		                        .rank_pairs_p = out->rank_pairs_p };
	bool list = out->involved_pairs_p != NULL;

	request.pairs_room = out->pairs_p != NULL ? *out->pairs_p : 0;
	request.involved_room = list ? *out->involved_pairs_p : 0;
	request.operands[TOPK_GRAD] = operand_of("grad", grad, count, elem_bytes, false);
	request.operands[TOPK_DENSE] =
	    operand_of("dense", out->dense, is_given(out->dense) ? count : 0, elem_bytes, true);
	request.operands[TOPK_IND] = operand_of("ind", out->ind, request.pairs_room, ind_bytes, true);
	request.operands[TOPK_VAL] = operand_of("val", out->val, request.pairs_room, elem_bytes, true);
	request.operands[TOPK_INVOLVED] =
	    list ? operand_of("involved", out->involved, request.involved_room, ind_bytes, true)
		 : operand_of("involved", out->involved, is_given(out->involved) ? bits : 0, 4, true);
	return request;
}

/* The gradient may be where the dense result goes: it is read before that is written. */
static choir_status check_buffers(const char *name, choir_device *device, const struct topk_request *request)
{
	const struct operand *grad = &request->operands[TOPK_GRAD], *dense = &request->operands[TOPK_DENSE];
	int64_t distance;
	bool same = false;

	if (grad->bytes > 0 && dense->bytes > 0)
		(void)dev_overlap(grad->buffer, grad->bytes, dense->buffer, dense->bytes, &same, &distance);
	if (!same)
		return operands_check(name, device, request->operands, TOPK_OPERANDS);
	TRY(operands_check(name, device, grad, 1));
	return operands_check(name, device, dense, TOPK_OPERANDS - 1);
}

/* Before the event completes, so that who waited for it finds the state free. */
static void end(struct run *run, bool drives)
{
	choir_topk_stats *stats = run->event->result;

	(void)drives;
	topk_run_leave(run->script.state);
	topk_run_stats(run->script.state, stats);
	run->event->algorithm = stats->algorithm;
}

static choir_status prepare(struct run *run, const char *name, const struct topk_state *state,
                            const struct topk_request *request, const choir_call *call)
{
	const struct topk_settings *settings = &state->settings;

	run->event->free_result = free;
	run->event->result = calloc(1, sizeof(choir_topk_stats));
	if (run->event->result == NULL)
		return error_no_memory("the statistics of a topk_allreduce", sizeof(choir_topk_stats));
	run_set_name(run, call->name, name);
	if (call->deadline_ms > 0)
		run->watch.deadline_ms = call->deadline_ms;
	run->bound.dtype = settings->types.work;
	run->bound.op = CHOIR_OP_SUM;
	run->bound.by_kernels = comm_by_kernels(run->comm);
	run->bound.record = (struct call_record){ .collective = COLLECTIVE_TOPK_ALLREDUCE,
		                                  .dtype = (uint8_t)settings->dtype,
		                                  .op = (uint8_t)settings->op,
		                                  .flags = run->comm->order_ranks ? RECORD_ORDER_RANKS : 0,
		                                  .count = settings->types.n,
		                                  .hash = topk_state_hash(state) + request->at };
	snprintf(run->bound.record.algorithm, sizeof run->bound.record.algorithm, "%s", settings->algorithm->name);
	run->script.ended = end;
	return run_set_deps(run, call);
}

static choir_status make_script(struct run *run, struct topk_state *state, const struct topk_request *request)
{
	struct choir_comm *comm = run->comm;
	struct script_env env = script_env_of(comm);

	for (int i = 0; i < TOPK_OPERANDS; i++)
		if (request->operands[i].bytes > 0)
			TRY(run_keep(run, request->operands[i].buffer));
	return topk_run_create(&env, state, request, &run->script.ops, &run->script.state);
}

/* The caller's selection. */
struct chosen {
	choir_buffer ind;
	size_t count;
	choir_dtype dtype;
};

static choir_status add_chosen(const char *name, const struct topk_settings *settings, const struct chosen *chosen,
                               struct topk_request *request)
{
	if (chosen->dtype != CHOIR_I32 && chosen->dtype != CHOIR_I64)
		return error_set(CHOIR_UNSUPPORTED, "%s: ind_dtype is %s: indices are i32 or i64", name,
		                 choir_dtype_name(chosen->dtype));
	if (settings->algorithm->chunked)
		return error_set(CHOIR_UNSUPPORTED, "%s: %s selects by chunks of its own", name,
		                 settings->algorithm->name);
	request->at = true;
	request->at_count = chosen->count;
	request->operands[TOPK_AT] =
	    operand_of("ind", chosen->ind, chosen->count, choir_dtype_bytes(chosen->dtype), false);
	return CHOIR_SUCCESS;
}

static choir_status submit(const char *name, choir_topk_state *state, const struct topk_request *request,
                           const choir_call *call, choir_event **event_p)
{
	choir_comm *comm = state->comm;
	struct run *run;
	choir_status st;

	if (event_p == NULL && !group_is_open())
		TRY(call_may_block(name, comm, false));
	TRY(run_create(comm, &run));
	st = prepare(run, name, state->state, request, call);
	if (st == CHOIR_SUCCESS)
		st = make_script(run, state->state, request);
	if (st != CHOIR_SUCCESS) {
		run_discard(run);
		return st;
	}
	return call_start(name, run, event_p);
}

static choir_status start(choir_topk_state *state, choir_buffer grad, const struct chosen *chosen,
                          const choir_topk_out *given_out, const choir_call *given, choir_event **event_p)
{
	const struct topk_settings *settings = &state->state->settings;
	const char *name = chosen != NULL ? "choir_topk_allreduce_at" : function;
	struct topk_request request;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_call call;

	TRY(call_check_comm(name, state->comm));
	TRY(call_read(name, given, 0, &call));
	TRY(call_takes_no_options(name, &call));
	TRY(call_read_struct(name, "out", "CHOIR_TOPK_OUT_INIT", given_out, &out, sizeof out));
	TRY(check_out(name, &out, settings->types.n));
	TRY(check_unreduced(name, &out, settings->algorithm));
	request = request_of(settings, grad, &out);
	if (chosen != NULL)
		TRY(add_chosen(name, settings, chosen, &request));
	TRY(check_buffers(name, state->comm->device, &request));
	return submit(name, state, &request, &call, event_p);
}

choir_status choir_topk_allreduce(choir_topk_state *state, choir_buffer grad, const choir_topk_out *out,
                                  const choir_call *call, choir_event **event_p)
{
	choir_status st;

	TRY(check_state(function, state));
	TRY(call_enter(function, state->comm));
	st = start(state, grad, NULL, out, call, event_p);
	comm_leave(state->comm);
	return call_named(st, call);
}

choir_status choir_topk_allreduce_at(choir_topk_state *state, choir_buffer grad, choir_buffer ind, size_t ind_count,
                                     choir_dtype ind_dtype, const choir_topk_out *out, const choir_call *call,
                                     choir_event **event_p)
{
	struct chosen chosen = { ind, ind_count, ind_dtype };
	choir_status st;

	TRY(check_state("choir_topk_allreduce_at", state));
	TRY(call_enter("choir_topk_allreduce_at", state->comm));
	st = start(state, grad, &chosen, out, call, event_p);
	comm_leave(state->comm);
	return call_named(st, call);
}

choir_status choir_event_topk_stats(choir_event *event, choir_topk_stats *out)
{
	choir_topk_stats stats;

	if (event == NULL || out == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_topk_stats: null argument");
	if (out->struct_size < sizeof(size_t) || out->struct_size > sizeof stats)
		return error_set(CHOIR_ARGUMENT, "choir_event_topk_stats: struct_size is %zu; this library knows %zu",
		                 out->struct_size, sizeof stats);
	if (event->free_result != free || !event_is_complete(event) || event->status != CHOIR_SUCCESS)
		return error_set(CHOIR_ARGUMENT,
		                 "choir_event_topk_stats: the event is not that of a topk_allreduce that ended well");
	stats = *(const choir_topk_stats *)event->result;
	stats.struct_size = out->struct_size;
	stats.wire_bytes = choir_event_wire_bytes(event);
	memcpy(out, &stats, out->struct_size);
	return CHOIR_SUCCESS;
}
