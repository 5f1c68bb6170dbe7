/* SPDX-License-Identifier: MIT */
/* choir_coalesce_rows.  Operands: ind, val, to_ind, to_val. */
#include "topk/device_call.h"

#include "kern/reduce.h"

#include <inttypes.h>

enum { IND, VAL, TO_IND, TO_VAL };
enum { RANGE, COUNT, FILL, OVER };

static choir_status negative(const struct device_call *call, uint64_t at, int64_t index)
{
	return error_set(CHOIR_ARGUMENT, "%s: index %" PRId64 " at position %" PRIu64 " is negative", call->form->name,
	                 index, at);
}

static choir_status begin(struct device_call *call, struct index_range range, choir_device *device)
{
	struct coalesce_call todo = { .dtype = call->args.dtype,
		                      .op = call->args.op,
		                      .width = call->args.width,
		                      .raw = true,
		                      .n_ranks = 1,
		                      .src = &call->source,
		                      .n_src = 1,
		                      .form = device_call_index_form(call),
		                      .range = range };

	call->source.pairs = (struct pairs){ .ind = call->operands[IND].ptr,
		                             .rows = call->operands[VAL].ptr,
		                             .count = call->args.count,
		                             .form = device_call_index_form(call) };
	if (device != NULL) {
		call->source.ind_mem = call->operands[IND].buffer.base;
		call->source.ind_off = call->operands[IND].buffer.offset_bytes;
		call->source.val_mem = call->operands[VAL].buffer.base;
		call->source.val_off = call->operands[VAL].buffer.offset_bytes;
	}
	return coalesce_init(&call->coalesce, &todo, device);
}

static uint64_t row_bytes(const struct device_call *call)
{
	return call->args.width * choir_dtype_bytes(call->args.dtype);
}

static choir_status host(struct device_call *call)
{
	const void *ind = call->operands[IND].ptr;
	uint64_t bad, n;
	struct index_range range = coalesce_range_host(ind, call->operands[IND].elem_bytes, call->args.count, &bad);
	bool done;

	if (bad < call->args.count)
		return negative(call, bad, index_at(ind, device_call_index_form(call), bad));
	TRY(begin(call, range, NULL));
	TRY(coalesce_count(&call->coalesce, &done));
	n = call->coalesce.count;
	TRY(device_call_capacity(call, n));
	call->operands[TO_IND].written = n * call->operands[TO_IND].elem_bytes;
	call->operands[TO_VAL].written = n * row_bytes(call);
	return coalesce_fill(&call->coalesce, call->operands[TO_IND].ptr, device_call_index_form(call),
	                     call->operands[TO_VAL].ptr, &done);
}

static bool fits_kernels(const struct device_call *call)
{
	return call->args.count <= COALESCE_KERNEL_MOST &&
	       (user_op_has_texts_alone(call->user) ||
	        coalesce_device_has_room(call->device, call->args.count, call->args.width, call->args.dtype)) &&
	       reduce_kernel_supported(call->device, call->args.dtype, call->args.op) == CHOIR_SUCCESS;
}

static choir_status find_range(struct device_call *call)
{
	const struct operand *ind = &call->operands[IND];
	struct index_range range;
	uint64_t bad;
	int64_t bad_index = 0;
	bool done;

	if (call->range == NULL)
		TRY(range_job_create(call->device, ind->buffer.base, ind->buffer.offset_bytes, ind->elem_bytes,
		                     call->args.count, &call->range));
	TRY(range_job_poll(call->range, &range, &bad, &bad_index, &done));
	if (!done)
		return range_job_watch(call->range, call->wake, NULL);
	if (bad < call->args.count)
		return negative(call, bad, bad_index);
	if (call->user != NULL) { /* a text that does not compile refuses the call */
		choir_status st = reduce_kernel_warm(call->device, call->args.dtype, call->args.op);

		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "%s", call->form->name);
	}
	call->phase = COUNT;
	return begin(call, range, call->device);
}

static choir_status count(struct device_call *call)
{
	bool done;

	TRY(coalesce_count(&call->coalesce, &done));
	if (!done)
		return coalesce_watch(&call->coalesce, call->wake, NULL);
	TRY(device_call_capacity(call, call->coalesce.count));
	call->phase = FILL;
	return CHOIR_SUCCESS;
}

static struct dev_bytes bytes_of(const struct operand *operand)
{
	return (struct dev_bytes){ .mem = operand->buffer.base, .off = operand->buffer.offset_bytes };
}

static choir_status fill(struct device_call *call)
{
	bool done;

	TRY(coalesce_fill_mems(&call->coalesce, bytes_of(&call->operands[TO_IND]), device_call_index_form(call),
	                       bytes_of(&call->operands[TO_VAL]), &done));
	if (!done)
		return coalesce_watch(&call->coalesce, call->wake, NULL);
	call->phase = OVER;
	return CHOIR_SUCCESS;
}

static choir_status kernels(struct device_call *call, bool *done_p)
{
	static choir_status (*const phases[])(struct device_call *) = { find_range, count, fill };
	int before;

	do {
		before = call->phase;
		if (before != OVER)
			TRY(phases[before](call));
		*done_p = call->phase == OVER;
	} while (call->phase != before);
	return CHOIR_SUCCESS;
}

const struct device_form device_form_coalesce = {
	.name = "choir_coalesce_rows", .host = host, .fits_kernels = fits_kernels, .kernels = kernels
};
