/* SPDX-License-Identifier: MIT */
#include "sparse/result.h"
#include "sparse/transfer.h"

#include "base/plural.h"

#include <inttypes.h>
#include <stdlib.h>

choir_status result_create(choir_device *device, choir_dtype ind_dtype, choir_dtype val_dtype, uint64_t count,
                           uint64_t width, struct sparse_result **out_p)
{
	struct sparse_result *result = calloc(1, sizeof *result);
	choir_status st;

	if (result == NULL)
		return error_no_memory("a sparse result", sizeof *result);
	result->device = dev_retain(device);
	result->ind_dtype = ind_dtype;
	result->val_dtype = val_dtype;
	result->count = count;
	result->width = width;
	st = pool_take(&result->ind, count * choir_dtype_bytes(ind_dtype), "the indices of the result");
	if (st == CHOIR_SUCCESS)
		st = pool_take(&result->val, count * width * choir_dtype_bytes(val_dtype), "the rows of the result");
	if (st != CHOIR_SUCCESS) {
		sparse_result_free(result);
		return st;
	}
	*out_p = result;
	return CHOIR_SUCCESS;
}

void sparse_result_free(struct sparse_result *result)
{
	if (result == NULL)
		return;
	pool_give(&result->ind);
	pool_give(&result->val);
	choir_device_destroy(result->device);
	free(result);
}

choir_status result_fits(uint64_t ind_needed, uint64_t ind_capacity, uint64_t val_needed, uint64_t val_capacity)
{
	if (ind_needed <= ind_capacity && val_needed <= val_capacity)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_CAPACITY,
	                 "the result needs %" PRIu64 " %s and %" PRIu64 " value%s, the receive buffers hold %" PRIu64
	                 " and %" PRIu64,
	                 ind_needed, ind_needed == 1 ? "index" : "indices", val_needed, plural(val_needed),
	                 ind_capacity, val_capacity);
}

/* Blocks until the transfer is over. */
static choir_status finish(struct transfer *transfer)
{
	bool done = false;
	choir_status st = transfer_step(transfer, &done);

	while (st == CHOIR_SUCCESS && !done) {
		if (transfer_copies(transfer) > 0)
			st = transfer_copy(transfer);
		else
			clWaitForEvents(1, &transfer->event);
		if (st == CHOIR_SUCCESS)
			st = transfer_step(transfer, &done);
	}
	transfer_fini(transfer);
	return st;
}

static choir_status copy_out(struct sparse_result *result, choir_buffer to, choir_dtype dtype, uint64_t count,
                             void *from)
{
	uint64_t bytes = count * choir_dtype_bytes(dtype);
	struct dev_access access = { 0 };
	struct transfer transfer;

	if (bytes == 0)
		return CHOIR_SUCCESS;
	TRY(dev_resolve(result->device, to, bytes, true, &access));
	transfer_init(&transfer, result->device, &access, from, bytes, true);
	return finish(&transfer);
}

choir_status sparse_result_fetch(struct sparse_result *result, choir_buffer recv_ind, size_t *ind_count,
                                 choir_buffer recv_val, size_t *val_count)
{
	uint64_t vals = result->count * result->width, ind_capacity, val_capacity;

	if (ind_count == NULL || val_count == NULL)
		return error_set(CHOIR_ARGUMENT, "%s is NULL", ind_count == NULL ? "recv_ind_count" : "recv_val_count");
	ind_capacity = *ind_count;
	val_capacity = *val_count;
	*ind_count = result->count;
	*val_count = vals;
	TRY(result_fits(result->count, ind_capacity, vals, val_capacity));
	TRY(dev_range(result->device, "recv_ind", recv_ind, result->count * choir_dtype_bytes(result->ind_dtype),
	              choir_dtype_bytes(result->ind_dtype)));
	TRY(dev_range(result->device, "recv_val", recv_val, vals * choir_dtype_bytes(result->val_dtype),
	              choir_dtype_bytes(result->val_dtype)));
	if (dev_overlap(recv_ind, result->count * choir_dtype_bytes(result->ind_dtype), recv_val,
	                vals * choir_dtype_bytes(result->val_dtype), NULL, NULL))
		return error_set(CHOIR_ARGUMENT, "recv_ind and recv_val overlap");
	TRY(copy_out(result, recv_ind, result->ind_dtype, result->count, result->ind.ptr));
	return copy_out(result, recv_val, result->val_dtype, vals, result->val.ptr);
}
