/* SPDX-License-Identifier: MIT */
/* choir_gather_rows and choir_scatter_rows.  Operands: ind, from, to. */
#include "topk/device_call.h"

#include "sparse/dense.h"

#include "base/plural.h"

#include <inttypes.h>

enum { IND, FROM, TO };

static uint64_t row_bytes(const struct device_call *call)
{
	return call->args.width * choir_dtype_bytes(call->args.dtype);
}

static choir_status gather_host(struct device_call *call)
{
	const void *ind = call->operands[IND].ptr;

	TRY(device_call_indices(call, ind, call->args.count, call->args.rows));
	dense_gather(ind, device_call_index_form(call), call->args.count, row_bytes(call), 0, call->operands[FROM].ptr,
	             call->operands[TO].ptr);
	call->operands[TO].written = call->operands[TO].bytes;
	return CHOIR_SUCCESS;
}

static choir_status scatter_host(struct device_call *call)
{
	struct pairs pairs = { .ind = call->operands[IND].ptr,
		               .rows = call->operands[FROM].ptr,
		               .count = call->args.count,
		               .form = device_call_index_form(call) };

	TRY(device_call_indices(call, pairs.ind, pairs.count, call->args.rows));
	dense_scatter(&pairs, row_bytes(call), 0, call->operands[TO].ptr);
	call->operands[TO].written = call->operands[TO].bytes;
	return CHOIR_SUCCESS;
}

static bool fits_kernels(const struct device_call *call)
{
	return call->args.count * call->args.width < UINT32_MAX;
}

static struct dense_rows rows_of(const struct device_call *call, int which)
{
	const struct operand *operand = &call->operands[which];

	return (struct dense_rows){ .mem = operand->buffer.base,
		                    .off = operand->buffer.offset_bytes,
		                    .elem_bytes = choir_dtype_bytes(call->args.dtype),
		                    .width = call->args.width };
}

/* The indices are looked at before anything is written. */
static choir_status check(struct device_call *call, bool *done_p)
{
	const struct operand *ind = &call->operands[IND];
	struct index_range range;
	uint64_t bad;
	int64_t bad_index = 0;

	if (call->range == NULL)
		TRY(range_job_create(call->device, ind->buffer.base, ind->buffer.offset_bytes, ind->elem_bytes,
		                     call->args.count, &call->range));
	TRY(range_job_poll(call->range, &range, &bad, &bad_index, done_p));
	if (!*done_p)
		return range_job_watch(call->range, call->wake, NULL);
	if (bad < call->args.count)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: index %" PRId64 " at position %" PRIu64 " is not one of %" PRIu64 " row%s",
		                 call->form->name, bad_index, bad, call->args.rows, plural(call->args.rows));
	if ((uint64_t)range.hi >= call->args.rows)
		return error_set(CHOIR_ARGUMENT, "%s: index %" PRId64 " is not one of %" PRIu64 " row%s",
		                 call->form->name, range.hi, call->args.rows, plural(call->args.rows));
	return CHOIR_SUCCESS;
}

static choir_status kernels(struct device_call *call, bool *done_p)
{
	const struct operand *ind = &call->operands[IND];
	struct dense_list list = { .ind = ind->buffer.base,
		                   .off = ind->buffer.offset_bytes,
		                   .form = device_call_index_form(call),
		                   .n = call->args.count };
	struct dense_rows from = rows_of(call, FROM), to = rows_of(call, TO);

	*done_p = call->phase == 1;
	if (call->phase == 1)
		return CHOIR_SUCCESS;
	TRY(check(call, done_p));
	if (!*done_p)
		return CHOIR_SUCCESS;
	*done_p = false;
	call->phase = 1;
	if (call->form == &device_form_gather)
		return dense_kernel_gather(call->device, &list, &from, 0, &to, &call->event);
	return dense_kernel_scatter(call->device, &list, &from, 0, &to, &call->event);
}

const struct device_form device_form_gather = {
	.name = "choir_gather_rows", .host = gather_host, .fits_kernels = fits_kernels, .kernels = kernels
};
const struct device_form device_form_scatter = {
	.name = "choir_scatter_rows", .host = scatter_host, .fits_kernels = fits_kernels, .kernels = kernels
};
