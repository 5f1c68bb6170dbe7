/* SPDX-License-Identifier: MIT */
/* choir_select_top and choir_select_above.  Operands: from, ind, val. */
#include "topk/device_call.h"
#include "topk/magnitude.h"

enum { FROM, IND, VAL };

static uint64_t room(const struct device_call *call)
{
	const struct device_args *args = &call->args;

	if (args->count_p == NULL)
		return args->k;
	return args->room < args->count ? args->room : args->count;
}

/* Here, where the floating-point control word is the default one. */
static struct select_limit limit_above(const struct device_call *call)
{
	return (struct select_limit){ .key = magnitude_key(call->args.dtype, call->args.threshold),
		                      .ties = UINT64_MAX };
}

static struct select_input input(const struct device_call *call)
{
	return (struct select_input){ .val = call->operands[FROM].ptr,
		                      .elem_bytes = call->operands[FROM].elem_bytes,
		                      .n = call->args.count };
}

static struct select_output output(const struct device_call *call)
{
	return (struct select_output){ .ind = call->operands[IND].ptr,
		                       .form = device_call_index_form(call),
		                       .val = call->operands[VAL].ptr,
		                       .capacity = room(call) };
}

static void written(struct device_call *call, uint64_t n)
{
	call->operands[IND].written = n * call->operands[IND].elem_bytes;
	call->operands[VAL].written = n * call->operands[VAL].elem_bytes;
}

static choir_status top_host(struct device_call *call)
{
	struct select_input in = input(call);
	struct select_output out = output(call);
	struct select_limit limit;

	written(call, call->args.k);
	return call->args.k > 0 ? select_top(&in, call->args.k, &out, &limit) : CHOIR_SUCCESS;
}

static choir_status above_host(struct device_call *call)
{
	struct select_input in = input(call);
	struct select_output out = output(call);
	uint64_t n = call->args.count > 0 ? select_host(&in, limit_above(call), &out) : 0;

	TRY(device_call_capacity(call, n));
	written(call, n);
	return CHOIR_SUCCESS;
}

static bool fits_kernels(const struct device_call *call)
{
	return call->args.count <= SELECT_MOST && room(call) > 0;
}

static choir_status start(struct device_call *call)
{
	const struct operand *from = &call->operands[FROM];
	struct select_source source = { .mem = from->buffer.base,
		                        .off = from->buffer.offset_bytes,
		                        .elem_bytes = from->elem_bytes,
		                        .n = call->args.count };
	struct select_target target = { .ind_bytes = call->operands[IND].elem_bytes, .capacity = room(call) };

	TRY(dev_buffer_create(call->device, room(call) * target.ind_bytes, &call->made[0]));
	TRY(dev_buffer_create(call->device, room(call) * from->elem_bytes, &call->made[1]));
	target.ind = call->made[0];
	target.val = call->made[1];
	if (call->args.count_p == NULL)
		return select_job_top(call->device, &source, call->args.k, &target, &call->select);
	return select_job_limit(call->device, &source, limit_above(call), &target, &call->select);
}

static choir_status copy(struct device_call *call, cl_mem from, const struct operand *to, uint64_t n, cl_event *event_p)
{
	cl_int rc = clEnqueueCopyBuffer(dev_queue(call->device), from, to->buffer.base, 0, to->buffer.offset_bytes,
	                                n * to->elem_bytes, 0, NULL, event_p);

	if (rc == CL_SUCCESS)
		rc = clFlush(dev_queue(call->device));
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clEnqueueCopyBuffer", rc);
}

static choir_status kernels(struct device_call *call, bool *done_p)
{
	struct select_limit limit;
	uint64_t count;

	*done_p = call->phase == 2;
	if (call->phase == 0) {
		call->phase = 1;
		TRY(start(call));
	}
	if (call->phase == 2)
		return CHOIR_SUCCESS;
	TRY(select_job_poll(call->select, &count, &limit, done_p));
	if (!*done_p)
		return select_job_watch(call->select, call->wake, NULL);
	if (call->args.count_p != NULL)
		TRY(device_call_capacity(call, count));
	if (count == 0)
		return CHOIR_SUCCESS;
	*done_p = false;
	call->phase = 2;
	TRY(copy(call, call->made[0], &call->operands[IND], count, NULL));
	return copy(call, call->made[1], &call->operands[VAL], count, &call->event);
}

const struct device_form device_form_select_top = {
	.name = "choir_select_top", .host = top_host, .fits_kernels = fits_kernels, .kernels = kernels
};
const struct device_form device_form_select_above = {
	.name = "choir_select_above", .host = above_host, .fits_kernels = fits_kernels, .kernels = kernels
};
