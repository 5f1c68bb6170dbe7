/* SPDX-License-Identifier: MIT */
#include "api/topk_call.h"

#include "exec/record.h"

#include "topk/algorithm.h"

#include "base/plural.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_given(choir_buffer buffer)
{
	return buffer.kind != CHOIR_BUFFER_NONE;
}

static bool wants_pairs(const choir_topk_out *out)
{
	return is_given(out->ind) || is_given(out->val) || out->pairs_p != NULL;
}

static choir_status check_unreduced(const char *name, const choir_topk_out *out, const struct topk_algorithm *algorithm)
{
	if (out->rank_pairs_p == NULL)
		return CHOIR_SUCCESS;
	if (!algorithm->gathers)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%s: rank_pairs_p: %s does not give each rank the pairs of all others", name,
		                 algorithm->name);
	if (out->pairs_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: rank_pairs_p is given, but no pairs are asked for", name);
	return CHOIR_SUCCESS;
}

static choir_status check_out(const char *name, const choir_topk_out *out, uint64_t count)
{
	bool list = out->involved_pairs_p != NULL, pairs = wants_pairs(out);

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

static struct operand input(const char *role, choir_buffer buffer, uint64_t count, size_t elem_bytes)
{
	return operand_of(role, buffer, count, elem_bytes, true, false);
}

static struct operand result(const char *role, choir_buffer buffer, uint64_t count, size_t elem_bytes)
{
	return operand_of(role, buffer, count, elem_bytes, false, true);
}

/* The tensors are the state's, one behind the other. */
static choir_status check_tensors(const struct topk_args *args, const struct topk_settings *settings)
{
	uint64_t left = settings->types.n;
	bool dense = false;

	for (size_t i = 0; i < args->n_tensors; i++) {
		const choir_tensor *tensor = &args->tensors[i];

		if (tensor->dtype != settings->dtype)
			return error_set(CHOIR_ARGUMENT, "%s: tensor %zu is of dtype %s, the state's is %s",
			                 args->function, i, choir_dtype_name(tensor->dtype),
			                 choir_dtype_name(settings->dtype));
		if (tensor->count > left)
			return error_set(CHOIR_ARGUMENT,
			                 "%s: with tensor %zu the tensors are more than the %" PRIu64
			                 " element%s of the state",
			                 args->function, i, settings->types.n, plural(settings->types.n));
		left -= tensor->count;
		dense |= is_given(tensor->recv);
	}
	if (left > 0)
		return error_set(
		    CHOIR_ARGUMENT, "%s: the tensors are %" PRIu64 " of the %" PRIu64 " element%s of the state",
		    args->function, settings->types.n - left, settings->types.n, plural(settings->types.n));
	if (!dense && !wants_pairs(args->out))
		return error_set(CHOIR_ARGUMENT, "%s: neither a dense result nor pairs are asked for", args->function);
	return CHOIR_SUCCESS;
}

static void add_tensors(const struct topk_args *args, size_t elem_bytes, struct topk_request *request)
{
	uint64_t first = 0;

	for (size_t i = 0; i < args->n_tensors; i++) {
		const choir_tensor *tensor = &args->tensors[i];
		struct operand *grad = topk_grad(request, i), *dense = topk_dense(request, i);

		*grad = input("grad", tensor->send, tensor->count, elem_bytes);
		*dense = result("dense", tensor->recv, is_given(tensor->recv) ? tensor->count : 0, elem_bytes);
		grad->first = dense->first = first;
		first += tensor->count;
	}
}

static void fill_request(const struct topk_args *args, const struct topk_settings *settings,
                         struct topk_request *request)
{
	const choir_topk_out *out = args->out;
	uint64_t bits = (settings->types.n + 31) / 32;
	size_t elem_bytes = choir_dtype_bytes(settings->dtype), ind_bytes = choir_dtype_bytes(out->ind_dtype);
	bool list = out->involved_pairs_p != NULL;

	request->pairs_p = out->pairs_p;
	request->involved_p = out->involved_pairs_p;
	request->rank_pairs_p = out->rank_pairs_p;
	request->pairs_room = out->pairs_p != NULL ? *out->pairs_p : 0;
	request->involved_room = list ? *out->involved_pairs_p : 0;
	request->at = args->at != NULL;
	request->at_count = args->at_count;
	request->operands[TOPK_IND] = result("ind", out->ind, request->pairs_room, ind_bytes);
	request->operands[TOPK_VAL] = result("val", out->val, request->pairs_room, elem_bytes);
	request->operands[TOPK_INVOLVED] =
	    list ? result("involved", out->involved, request->involved_room, ind_bytes)
		 : result("involved", out->involved, is_given(out->involved) ? bits : 0, 4);
	if (args->at != NULL)
		request->operands[TOPK_AT] = input("ind", *args->at, args->at_count, choir_dtype_bytes(args->at_dtype));
	add_tensors(args, elem_bytes, request);
}

static choir_status check_chosen(const struct topk_args *args, const struct topk_settings *settings)
{
	if (args->at == NULL)
		return CHOIR_SUCCESS;
	if (args->at_dtype != CHOIR_I32 && args->at_dtype != CHOIR_I64)
		return error_set(CHOIR_UNSUPPORTED, "%s: ind_dtype is %s: indices are i32 or i64", args->function,
		                 choir_dtype_name(args->at_dtype));
	if (settings->algorithm->chunked)
		return error_set(CHOIR_UNSUPPORTED, "%s: %s selects by chunks of its own", args->function,
		                 settings->algorithm->name);
	return CHOIR_SUCCESS;
}

/* Where a dense result replaces its gradient the two are the same bytes, and one stands for both. */
static choir_status check_buffers(const char *name, choir_device *device, const struct topk_request *request)
{
	struct operand *others = malloc(request->n_operands * sizeof *others);
	choir_status st = CHOIR_SUCCESS;
	size_t n = 0;

	if (others == NULL)
		return error_no_memory("the buffers of a topk_allreduce", request->n_operands * sizeof *others);
	for (size_t i = 0; i < request->n_tensors && st == CHOIR_SUCCESS; i++) {
		const struct operand *grad = topk_grad(request, i), *dense = topk_dense(request, i);
		int64_t distance;
		bool same = false;

		if (grad->bytes > 0 && dense->bytes > 0)
			(void)dev_overlap(grad->buffer, grad->bytes, dense->buffer, dense->bytes, &same, &distance);
		if (same)
			st = operands_check(name, device, grad, 1);
		else
			others[n++] = *grad;
		others[n++] = *dense;
	}
	memcpy(&others[n], request->operands, TOPK_TENSORS * sizeof *others);
	if (st == CHOIR_SUCCESS)
		st = operands_check(name, device, others, n + TOPK_TENSORS);
	free(others);
	return st;
}

choir_status topk_call_check(const struct topk_args *args, choir_device *device, const struct topk_state *state,
                             struct topk_request *request)
{
	const struct topk_settings *settings = &state->settings;
	choir_status st;

	TRY(check_tensors(args, settings));
	TRY(check_out(args->function, args->out, settings->types.n));
	TRY(check_unreduced(args->function, args->out, settings->algorithm));
	TRY(check_chosen(args, settings));
	*request =
	    (struct topk_request){ .n_tensors = args->n_tensors, .n_operands = TOPK_TENSORS + 2 * args->n_tensors };
	request->operands = calloc(request->n_operands, sizeof *request->operands);
	if (request->operands == NULL)
		return error_no_memory("the buffers of a topk_allreduce",
		                       request->n_operands * sizeof *request->operands);
	fill_request(args, settings, request);
	st = check_buffers(args->function, device, request);
	if (st != CHOIR_SUCCESS)
		topk_request_fini(request);
	return st;
}

void topk_request_fini(struct topk_request *request)
{
	free(request->operands);
	request->operands = NULL;
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

static choir_status prepare(struct run *run, const char *name, struct topk_state *state,
                            const struct topk_request *request, const choir_call *call)
{
	const struct topk_settings *settings = &state->settings;
	struct script_env env;

	run->event->free_result = free;
	run->event->result = calloc(1, sizeof(choir_topk_stats));
	if (run->event->result == NULL)
		return error_no_memory("the statistics of a topk_allreduce", sizeof(choir_topk_stats));
	TRY(run_set_call(run, call, name));
	run->bound.dtype = settings->types.work;
	run->bound.op = CHOIR_OP_SUM;
	run->bound.by_kernels =
	    comm_by_kernels(run->comm) &&
	    reduce_kernel_supported(run->comm->device, settings->types.work, CHOIR_OP_SUM) == CHOIR_SUCCESS;
	run->bound.record = (struct call_record){ .collective = COLLECTIVE_TOPK_ALLREDUCE,
		                                  .dtype = (uint8_t)settings->dtype,
		                                  .op = (uint8_t)settings->op,
		                                  .flags = run->comm->order_ranks ? RECORD_ORDER_RANKS : 0,
		                                  .count = settings->types.n,
		                                  .hash = topk_state_hash(state) + request->at };
	record_set_algorithm(&run->bound.record, settings->algorithm->name);
	run->script.ended = end;
	env = script_env_of(run->comm);
	return topk_run_create(&env, state, request, &run->script.ops, &run->script.state);
}

choir_status topk_call_submit(const char *function, choir_comm *comm, struct topk_state *state,
                              const struct topk_request *request, const choir_call *call, choir_event **event_p)
{
	struct run *run;
	choir_status st;

	TRY(call_may_start(function, comm, event_p));
	TRY(run_create(comm, &run));
	st = prepare(run, function, state, request, call);
	return call_start(function, run, st, event_p);
}
