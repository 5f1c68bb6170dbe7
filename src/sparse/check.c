/* SPDX-License-Identifier: MIT */
/* Every wrong argument of a sparse allreduce, found before anything is sent. */
#include "base/dtype.h"
#include "kern/reduce.h"
#include "sparse/algorithm.h"
#include "sparse/sparse.h"

#include <xxhash.h>

/* Far below 2^63, so that sums and roundings of sizes cannot wrap. */
#define MOST_BYTES (UINT64_C(1) << 60)

static choir_status check_attr(const struct sparse_call *call)
{
	const choir_sparse_attr *attr = &call->attr;
	int row = call->algorithm == NULL ? -1 : sparse_method_find(call->algorithm);
	char names[256];

	if ((unsigned)attr->coalesce_mode > CHOIR_COALESCE_KEEP_PRECISION)
		return error_set(CHOIR_ARGUMENT, "coalesce_mode %d is none", (int)attr->coalesce_mode);
	if ((unsigned)attr->wire > CHOIR_SPARSE_WIRE_BF16)
		return error_set(CHOIR_ARGUMENT, "wire type %d is none", (int)attr->wire);
	if (attr->wire != CHOIR_SPARSE_WIRE_FULL && call->val_dtype != CHOIR_F32)
		return error_set(CHOIR_UNSUPPORTED, "a 16-bit wire type is for values of f32; val_dtype is %s",
		                 choir_dtype_name(call->val_dtype));
	if (call->algorithm == NULL)
		return CHOIR_SUCCESS;
	if (row < 0)
		return error_set(CHOIR_ARGUMENT, "algorithm \"%s\" is none of sparse_allreduce's: %s", call->algorithm,
		                 sparse_method_names(names, sizeof names));
	if (attr->coalesce_mode == CHOIR_COALESCE_DISABLE && !sparse_methods[row].keeps)
		return error_set(CHOIR_UNSUPPORTED,
		                 "algorithm %s merges rows of one index: coalesce mode disable needs allgather",
		                 call->algorithm);
	return CHOIR_SUCCESS;
}

choir_status sparse_values_defined(choir_dtype dtype, choir_op op)
{
	if (dtype_kind(dtype) == KIND_PAIR)
		return error_set(CHOIR_UNSUPPORTED, "val_dtype is %s: rows of a sparse tensor are numbers, not pairs",
		                 choir_dtype_name(dtype));
	if (op == CHOIR_OP_LOCAL)
		return error_set(CHOIR_UNSUPPORTED,
		                 "op local would give each rank another result: sparse_allreduce has none");
	return reduce_supported(dtype, op);
}

choir_status sparse_check_types(const struct sparse_call *call)
{
	if (choir_dtype_bytes(call->ind_dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "ind_dtype %d is no dtype", call->ind_dtype);
	if (call->ind_dtype != CHOIR_I32 && call->ind_dtype != CHOIR_I64)
		return error_set(CHOIR_UNSUPPORTED, "ind_dtype is %s: indices are i32 or i64",
		                 choir_dtype_name(call->ind_dtype));
	if (choir_dtype_bytes(call->val_dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "val_dtype %d is no dtype", call->val_dtype);
	TRY(sparse_values_defined(call->val_dtype, call->op));
	return check_attr(call);
}

static choir_status check_counts(const struct sparse_call *call)
{
	if (call->send_ind_count == 0 && call->send_val_count == 0)
		return CHOIR_SUCCESS;
	if (call->send_ind_count == 0)
		return error_set(CHOIR_ARGUMENT, "send_val_count is %zu with a send_ind_count of 0",
		                 call->send_val_count);
	if (call->send_val_count == 0)
		return error_set(CHOIR_ARGUMENT,
		                 "send_val_count is 0 with a send_ind_count of %zu: rows have a width of 1 at least",
		                 call->send_ind_count);
	if (call->send_val_count % call->send_ind_count != 0)
		return error_set(CHOIR_ARGUMENT, "send_val_count %zu is no multiple of send_ind_count %zu",
		                 call->send_val_count, call->send_ind_count);
	return CHOIR_SUCCESS;
}

static choir_status check_range(choir_device *device, const char *role, choir_buffer buffer, size_t count,
                                choir_dtype dtype)
{
	size_t elem_bytes = choir_dtype_bytes(dtype);

	if (count > MOST_BYTES / elem_bytes)
		return error_set(CHOIR_ARGUMENT, "%s: %zu elements of %s are more than any memory holds", role, count,
		                 choir_dtype_name(dtype));
	return dev_range(device, role, buffer, (uint64_t)count * elem_bytes, elem_bytes);
}

/* completion_fn, alloc_fn or receive buffers, exactly one. */
static choir_status check_way(const struct sparse_call *call)
{
	bool completes = call->attr.completion_fn != NULL, allocates = call->attr.alloc_fn != NULL;
	bool receives = call->recv_ind.kind != CHOIR_BUFFER_NONE || call->recv_val.kind != CHOIR_BUFFER_NONE;

	if (completes && allocates)
		return error_set(CHOIR_ARGUMENT,
		                 "both completion_fn and alloc_fn are given: the result comes by exactly one way");
	if ((completes || allocates) && receives)
		return error_set(CHOIR_ARGUMENT,
		                 "%s and a receive buffer are given: the result comes by exactly one way",
		                 completes ? "completion_fn" : "alloc_fn");
	if (completes || allocates)
		return CHOIR_SUCCESS;
	if (call->recv_ind_count == NULL && call->recv_val_count == NULL && !receives)
		return error_set(CHOIR_ARGUMENT,
		                 "no way for the result: give completion_fn, alloc_fn or receive buffers");
	if (call->recv_ind_count == NULL || call->recv_val_count == NULL)
		return error_set(CHOIR_ARGUMENT, "%s is NULL: receive buffers need their capacities",
		                 call->recv_ind_count == NULL ? "recv_ind_count" : "recv_val_count");
	if (call->recv_ind_count == call->recv_val_count)
		return error_set(CHOIR_ARGUMENT, "recv_ind_count and recv_val_count are the same variable");
	return CHOIR_SUCCESS;
}

struct role {
	const char *name;
	choir_buffer buffer;
	uint64_t bytes;
};

static choir_status check_apart(const struct role *a, const struct role *b)
{
	int64_t distance;
	bool same;

	if (a->bytes == 0 || b->bytes == 0 || !dev_overlap(a->buffer, a->bytes, b->buffer, b->bytes, &same, &distance))
		return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "%s and %s overlap", a->name, b->name);
}

static choir_status check_receive(choir_device *device, const struct sparse_call *call)
{
	uint64_t ind_bytes = choir_dtype_bytes(call->ind_dtype), val_bytes = choir_dtype_bytes(call->val_dtype);
	struct role send_ind = { "send_ind", call->send_ind, call->send_ind_count * ind_bytes };
	struct role send_val = { "send_val", call->send_val, call->send_val_count * val_bytes };
	struct role recv_ind = { "recv_ind", call->recv_ind, call->ind_capacity * ind_bytes };
	struct role recv_val = { "recv_val", call->recv_val, call->val_capacity * val_bytes };

	TRY(check_range(device, "recv_ind", call->recv_ind, call->ind_capacity, call->ind_dtype));
	TRY(check_range(device, "recv_val", call->recv_val, call->val_capacity, call->val_dtype));
	TRY(check_apart(&send_ind, &recv_ind));
	TRY(check_apart(&send_ind, &recv_val));
	TRY(check_apart(&send_val, &recv_ind));
	TRY(check_apart(&send_val, &recv_val));
	return check_apart(&recv_ind, &recv_val);
}

choir_status sparse_check(choir_device *device, int n_ranks, const struct sparse_call *call)
{
	if (n_ranks < 1)
		return error_set(CHOIR_ARGUMENT, "a comm of %d ranks", n_ranks);
	TRY(sparse_check_types(call));
	TRY(check_counts(call));
	TRY(check_way(call));
	TRY(check_range(device, "send_ind", call->send_ind, call->send_ind_count, call->ind_dtype));
	TRY(check_range(device, "send_val", call->send_val, call->send_val_count, call->val_dtype));
	if (call->attr.completion_fn == NULL && call->attr.alloc_fn == NULL)
		TRY(check_receive(device, call));
	return CHOIR_SUCCESS;
}

uint64_t sparse_agreement(const struct sparse_call *call)
{
	uint64_t parts[] = { (uint64_t)call->ind_dtype,
		             (uint64_t)call->val_dtype,
		             (uint64_t)user_op_code(call->op),
		             (uint64_t)call->attr.coalesce_mode,
		             (uint64_t)call->attr.wire,
		             call->algorithm == NULL ? 0 : (uint64_t)sparse_method_find(call->algorithm) + 1 };

	return XXH3_64bits(parts, sizeof parts);
}
