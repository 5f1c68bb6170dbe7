/* SPDX-License-Identifier: MIT */
/* Widens and scales the caller's rows before they are coalesced. */
#include "kern/convert.h"
#include "kern/reduce.h"
#include "sparse/state.h"

choir_status sparse_widen(struct sparse *sparse)
{
	uint64_t n = sparse->call.send_val_count;

	if (sparse->local_dtype == sparse->call.val_dtype)
		return CHOIR_SUCCESS;
	TRY(pool_take(&sparse->val_wide, n * choir_dtype_bytes(sparse->local_dtype), "the rows in f32"));
	convert_values(sparse->local_dtype, sparse->val_wide.ptr, sparse->call.val_dtype, sparse->val, n);
	sparse->val = sparse->val_wide.ptr;
	return CHOIR_SUCCESS;
}

choir_status sparse_scale(struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;
	struct reduce_call scale = { .dtype = sparse->local_dtype,
		                     .op = sparse->op_given,
		                     .n_src = 1,
		                     .n_ranks = sparse->env.layout->n,
		                     .factor = call->factor,
		                     .n_dst = 1,
		                     .nt_from = 1,
		                     .count = call->send_val_count };
	struct reduce_operand from = { call->send_val.base, call->send_val.offset_bytes }, to = { 0 };
	uint64_t bytes = call->send_val_count * choir_dtype_bytes(sparse->local_dtype);
	const void *val = sparse->val;

	if (sparse->op_given != CHOIR_OP_PREMUL_SUM)
		return CHOIR_SUCCESS;
	if (val != NULL) {
		if (sparse->val_wide.ptr == NULL)
			TRY(pool_take(&sparse->val_wide, bytes, "the scaled rows"));
		reduce_host(&scale, &sparse->val_wide.ptr, &val);
		sparse->val = sparse->val_wide.ptr;
		return CHOIR_SUCCESS;
	}
	TRY(scratch_take(sparse->env.device, bytes, "the scaled rows", &sparse->scaled));
	to.mem = sparse->scaled.mem;
	/* The kernels that read it are on the same queue. */
	return reduce_kernel_start(sparse->env.device, &scale, to, &from, NULL);
}
