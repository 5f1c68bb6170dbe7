/* SPDX-License-Identifier: MIT */
/* Top-k gradients (<choir/topk.h>): the forms of a call, and its statistics. */
#include "api/request.h"
#include "api/topk_call.h"
#include "api/topk_state.h"

#include <stdlib.h>
#include <string.h>

/* Buffers are longer than a word, so a size may end inside one. */
static choir_status check_whole_buffers(const char *name, size_t struct_size)
{
	static const size_t starts[] = { offsetof(choir_topk_out, dense), offsetof(choir_topk_out, ind),
		                         offsetof(choir_topk_out, val), offsetof(choir_topk_out, involved) };

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (struct_size > starts[i] && struct_size < starts[i] + sizeof(choir_buffer))
			return error_set(CHOIR_ARGUMENT,
			                 "%s: out->struct_size is %zu, which ends inside a buffer (use "
			                 "CHOIR_TOPK_OUT_INIT)",
			                 name, struct_size);
	return CHOIR_SUCCESS;
}

static choir_status read_out(const char *name, const choir_topk_out *given, choir_topk_out *out)
{
	*out = (choir_topk_out)CHOIR_TOPK_OUT_INIT;
	TRY(call_read_struct(name, "out", "CHOIR_TOPK_OUT_INIT", given, out, sizeof *out));
	return check_whole_buffers(name, given->struct_size);
}

/* A list of tensors takes its dense results from there. */
static choir_status read_multi_out(const char *name, const choir_tensor *tensors, size_t n_tensors,
                                   const choir_topk_out *given, choir_topk_out *out)
{
	if (tensors == NULL && n_tensors > 0)
		return error_set(CHOIR_ARGUMENT, "%s: null tensors", name);
	*out = (choir_topk_out)CHOIR_TOPK_OUT_INIT;
	if (given == NULL)
		return CHOIR_SUCCESS;
	TRY(read_out(name, given, out));
	if (out->dense.kind != CHOIR_BUFFER_NONE)
		return error_set(CHOIR_ARGUMENT, "%s: out->dense is given; the dense results are the tensors' recv",
		                 name);
	return CHOIR_SUCCESS;
}

/* A call on one tensor, in the form of a list's. */
struct one_tensor {
	struct topk_args args;
	choir_topk_out out;
	choir_tensor tensor;
};

static choir_status read_one(const char *name, const choir_topk_state *state, choir_buffer grad,
                             const choir_topk_out *out, struct one_tensor *one)
{
	const struct topk_settings *settings;

	TRY(topk_check_state(name, state));
	TRY(read_out(name, out, &one->out));
	settings = &state->state->settings;
	one->tensor = (choir_tensor){ grad, one->out.dense, settings->types.n, settings->dtype };
	one->args.tensors = &one->tensor;
	one->args.n_tensors = 1;
	one->args.out = &one->out;
	return CHOIR_SUCCESS;
}

static choir_status start_inside(choir_topk_state *state, const struct topk_args *args, const choir_call *given,
                                 choir_event **event_p)
{
	struct topk_request request;
	choir_call call;
	choir_status st;

	TRY(call_check_comm(args->function, state->comm));
	TRY(call_read(args->function, given, 0, &call));
	TRY(call_takes_no_options(args->function, &call));
	TRY(topk_call_check(args, state->comm->device, state->state, &request));
	st = topk_call_submit(args->function, state->comm, state->state, &request, &call, event_p);
	topk_request_fini(&request);
	return st;
}

static choir_status start(choir_topk_state *state, const struct topk_args *args, const choir_call *call,
                          choir_event **event_p)
{
	choir_status st = call_enter(args->function, state->comm);

	if (st == CHOIR_SUCCESS) {
		st = start_inside(state, args, call, event_p);
		comm_leave(state->comm);
	}
	return call_named(st, call);
}

choir_status choir_topk_allreduce(choir_topk_state *state, choir_buffer grad, const choir_topk_out *out,
                                  const choir_call *call, choir_event **event_p)
{
	static const char name[] = "choir_topk_allreduce";
	struct one_tensor one = { .args = { .function = name } };

	TRY(call_named(read_one(name, state, grad, out, &one), call));
	return start(state, &one.args, call, event_p);
}

choir_status choir_topk_allreduce_at(choir_topk_state *state, choir_buffer grad, choir_buffer ind, size_t ind_count,
                                     choir_dtype ind_dtype, const choir_topk_out *out, const choir_call *call,
                                     choir_event **event_p)
{
	static const char name[] = "choir_topk_allreduce_at";
	struct one_tensor one = { .args = {
				      .function = name, .at = &ind, .at_count = ind_count, .at_dtype = ind_dtype } };

	TRY(call_named(read_one(name, state, grad, out, &one), call));
	return start(state, &one.args, call, event_p);
}

choir_status choir_topk_allreduce_multi(choir_topk_state *state, const choir_tensor *tensors, size_t n_tensors,
                                        const choir_topk_out *out, const choir_call *call, choir_event **event_p)
{
	static const char name[] = "choir_topk_allreduce_multi";
	choir_topk_out read;
	const struct topk_args args = { .function = name, .tensors = tensors, .n_tensors = n_tensors, .out = &read };

	TRY(call_named(topk_check_state(name, state), call));
	TRY(call_named(read_multi_out(name, tensors, n_tensors, out, &read), call));
	return start(state, &args, call, event_p);
}

/* --- kept --- */

struct kept_topk {
	struct kept_call base;        /* first */
	struct topk_state *state;     /* a reference */
	const struct topk_args *args; /* until it is checked */
	struct topk_request request;
	cl_mem *kept; /* [request.n_operands] retained; NULL where there is none */
};

static choir_status check_kept(struct kept_call *base, choir_comm *comm, const choir_call *call)
{
	struct kept_topk *kept = (struct kept_topk *)base;
	struct topk_request *request = &kept->request;

	TRY(call_takes_no_options(base->function, call));
	TRY(topk_call_check(kept->args, comm->device, kept->state, request));
	kept->kept = calloc(request->n_operands, sizeof(cl_mem));
	if (kept->kept == NULL)
		return error_no_memory("a persistent call", request->n_operands * sizeof(cl_mem));
	for (size_t i = 0; i < request->n_operands; i++)
		if (request->operands[i].bytes > 0)
			TRY(dev_keep(request->operands[i].buffer, &kept->kept[i]));
	return CHOIR_SUCCESS;
}

/* Each start finds the rooms as they were given to init. */
static choir_status start_kept(struct kept_call *base, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct kept_topk *kept = (struct kept_topk *)base;

	return topk_call_submit(base->function, comm, kept->state, &kept->request, call, event_p);
}

static void destroy_kept(struct kept_call *base)
{
	struct kept_topk *kept = (struct kept_topk *)base;

	for (size_t i = 0; kept->kept != NULL && i < kept->request.n_operands; i++)
		if (kept->kept[i] != NULL)
			clReleaseMemObject(kept->kept[i]);
	free(kept->kept);
	topk_request_fini(&kept->request);
	topk_state_release(kept->state);
	free(kept);
}

static choir_status keep(choir_topk_state *state, const struct topk_args *args, const choir_call *call,
                         choir_request **request_p)
{
	struct kept_topk *kept = calloc(1, sizeof *kept);

	if (kept == NULL)
		return error_no_memory("a persistent call", sizeof *kept);
	kept->base = (struct kept_call){
		.function = args->function, .check = check_kept, .start = start_kept, .destroy = destroy_kept
	};
	/* base.buffers stay none: kept->kept has them */
	kept->state = topk_state_retain(state->state);
	kept->args = args;
	return request_keep(state->comm, &kept->base, call, request_p);
}

choir_status choir_topk_allreduce_init(choir_topk_state *state, choir_buffer grad, const choir_topk_out *out,
                                       const choir_call *call, choir_request **request_p)
{
	struct one_tensor one = { .args = { .function = "choir_topk_allreduce" } };

	TRY(call_named(read_one("choir_topk_allreduce_init", state, grad, out, &one), call));
	return keep(state, &one.args, call, request_p);
}

choir_status choir_topk_allreduce_multi_init(choir_topk_state *state, const choir_tensor *tensors, size_t n_tensors,
                                             const choir_topk_out *out, const choir_call *call,
                                             choir_request **request_p)
{
	static const char name[] = "choir_topk_allreduce_multi_init";
	choir_topk_out read;
	const struct topk_args args = {
		.function = "choir_topk_allreduce_multi", .tensors = tensors, .n_tensors = n_tensors, .out = &read
	};

	TRY(call_named(topk_check_state(name, state), call));
	TRY(call_named(read_multi_out(name, tensors, n_tensors, out, &read), call));
	return keep(state, &args, call, request_p);
}

choir_status choir_event_topk_stats(choir_event *event, choir_topk_stats *out)
{
	choir_topk_stats stats;

	if (event == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_topk_stats: null event");
	TRY(event_check("choir_event_topk_stats", event));
	TRY(call_check_struct("choir_event_topk_stats", "out", "sizeof(choir_topk_stats)", out, sizeof stats));
	if (event->free_result != free || !event_is_complete(event) || event->status != CHOIR_SUCCESS)
		return error_set(CHOIR_ARGUMENT,
		                 "choir_event_topk_stats: the event is not that of a topk_allreduce that ended well");
	stats = *(const choir_topk_stats *)event->result;
	stats.struct_size = out->struct_size;
	stats.wire_bytes = choir_event_wire_bytes(event);
	memcpy(out, &stats, out->struct_size);
	return CHOIR_SUCCESS;
}
