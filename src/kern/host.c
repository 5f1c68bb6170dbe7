/* SPDX-License-Identifier: MIT */
#include "kern/host_copy.h"
#include "kern/host_twin.h"
#include "kern/reduce.h"

static const struct host_twin *twin_of(choir_dtype dtype, choir_op op)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &host_avx2_twins[dtype][op];
#endif
	return &host_base_twins[dtype][op];
}

choir_status reduce_supported(choir_dtype dtype, choir_op op)
{
	if ((uint32_t)dtype >= HOST_DTYPES)
		return error_set(CHOIR_ARGUMENT, "%d is no data type", (int)dtype);
	if ((uint32_t)op >= HOST_OPS)
		return error_set(CHOIR_ARGUMENT, "%d is no operator", (int)op);
	if (twin_of(dtype, op)->two == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s is not defined for %s: it is for %s", choir_op_name(op), choir_dtype_name(dtype),
		                 op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR ? "bool only" : "integers and bool");
	return CHOIR_SUCCESS;
}

bool reduce_has_final(choir_op op)
{
	return op == CHOIR_OP_MEAN;
}

void reduce_host(const struct reduce_call *call, void *const *dst, const void *const *src)
{
	const struct host_twin *twin = twin_of(call->dtype, call->op);
	int n_final = call->final ? call->n_ranks : 0;

	if (call->n_src == 2)
		twin->two(dst[0], src[0], src[1], call->count, call->raw_from, n_final);
	else
		twin->many(dst[0], src, call->n_src, call->count, call->raw_from, n_final);
	for (uint32_t k = 1; k < call->n_dst; k++)
		copy_host(dst[k], dst[0], call->count * choir_dtype_bytes(call->dtype), k >= call->stream_from);
}

void reduce_identity(choir_dtype dtype, choir_op op, void *out)
{
	twin_of(dtype, op)->identity(out);
}
