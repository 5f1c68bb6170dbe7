/* SPDX-License-Identifier: MIT */
#include "topk/operand.h"

#include <inttypes.h>
#include <stdlib.h>

/* Far below 2^63, so that sums and roundings of sizes cannot wrap. */
#define MOST_BYTES (UINT64_C(1) << 60)

static choir_status check_apart(const char *call, const struct operand *operands, size_t n)
{
	struct dev_span *spans = malloc(n * sizeof *spans);
	size_t n_spans = 0, ids[2];
	choir_status st = CHOIR_SUCCESS;

	if (spans == NULL)
		return error_no_memory("the operands of a call", n * sizeof *spans);
	for (size_t i = 0; i < n; i++) {
		spans[n_spans] = (struct dev_span){ .bytes = operands[i].bytes, .id = i, .written = operands[i].write };
		n_spans += operands[i].bytes > 0 && dev_origin(operands[i].buffer, &spans[n_spans].origin);
	}
	if (dev_spans_meet(spans, n_spans, ids))
		st = error_set(CHOIR_ARGUMENT, "%s: %s and %s overlap", call, operands[ids[0]].role,
		               operands[ids[1]].role);
	free(spans);
	return st;
}

choir_status operands_check(const char *call, choir_device *device, const struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct operand *a = &operands[i];
		choir_status st;

		if (a->bytes > MOST_BYTES)
			return error_set(CHOIR_ARGUMENT, "%s: %s: %" PRIu64 " bytes are more than any memory holds",
			                 call, a->role, a->bytes);
		st = dev_range(device, a->role, a->buffer, a->bytes, a->elem_bytes);
		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "%s", call);
	}
	return n > 1 ? check_apart(call, operands, n) : CHOIR_SUCCESS;
}

bool operand_kernels_run(const choir_device *device)
{
	choir_reduce_where where = dev_reduce_where(device);

	return dev_has_long_loops(device) && where != CHOIR_REDUCE_HOST &&
	       (where == CHOIR_REDUCE_KERNEL || !dev_is_cpu(device));
}

/* A kernel may not write what the caller made read-only, or the reverse. */
bool operand_kernels_may(const struct operand *operand)
{
	cl_mem_flags flags = 0;

	if (operand->buffer.kind != CHOIR_BUFFER_MEM || operand->bytes == 0 ||
	    clGetMemObjectInfo(operand->buffer.base, CL_MEM_FLAGS, sizeof flags, &flags, NULL) != CL_SUCCESS)
		return false;
	return !(operand->write && (flags & CL_MEM_READ_ONLY)) && !(operand->read && (flags & CL_MEM_WRITE_ONLY));
}

choir_status operands_keep(struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (operands[i].bytes > 0)
			TRY(dev_keep(operands[i].buffer, &operands[i].kept));
	return CHOIR_SUCCESS;
}

choir_status operands_reach(choir_device *device, struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct operand *operand = &operands[i];

		TRY(dev_resolve(device, operand->buffer, operand->bytes, operand->write, &operand->access));
		operand->ptr = operand->access.ptr;
		operand->by_kernel = operand->by_kernel && operand->access.stage && operand->access.mem != NULL;
		if (operand->access.direct || operand->by_kernel)
			continue;
		TRY(pool_take(&operand->copy, operand->bytes, "a copy of an operand"));
		operand->ptr = operand->copy.ptr;
		transfer_init(&operand->move, device, &operand->access, operand->ptr,
		              operand->read ? operand->bytes : 0, false);
	}
	return CHOIR_SUCCESS;
}

void operands_write(choir_device *device, struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (operands[i].copy.ptr != NULL)
			transfer_init(&operands[i].move, device, &operands[i].access, operands[i].ptr,
			              operands[i].write ? operands[i].written : 0, true);
}

choir_status operands_move(struct operand *operands, size_t n, void (*ring)(void *), void *ctx, bool *done_p)
{
	*done_p = true;
	for (size_t i = 0; i < n; i++) {
		bool done = true;

		if (operands[i].copy.ptr == NULL)
			continue;
		TRY(transfer_step(&operands[i].move, &done));
		if (!done)
			TRY(transfer_watch(&operands[i].move, ring, ctx));
		*done_p &= done;
	}
	return CHOIR_SUCCESS;
}

bool operands_want_copy(const struct operand *operands, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += transfer_copies(&operands[i].move);
	return bytes > 0;
}

choir_status operands_copy(struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++)
		TRY(transfer_copy(&operands[i].move));
	return CHOIR_SUCCESS;
}

void operands_fini(struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		transfer_fini(&operands[i].move);
		pool_give(&operands[i].copy);
		if (operands[i].kept != NULL)
			clReleaseMemObject(operands[i].kept);
		operands[i].kept = NULL;
	}
}
