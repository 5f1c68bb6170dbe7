/* SPDX-License-Identifier: MIT */
/* The result goes to the caller in one of three ways.  All exchanges are over: a failure here is this rank's alone.
 * receive buffers: the capacity is checked; fill writes to them where the host reaches them, else to a result of the
 *                  library's, which is then copied;
 * alloc_fn:        the same with the buffers that it gives;
 * completion_fn:   a result of the library's, valid during the call.
 * Where the capacity is too small the result stays for sparse_take_result. */
#include "kern/convert.h"
#include "sparse/state.h"

#include <stdio.h>
#include <string.h>

static choir_status deliver_alloc(struct sparse *sparse, struct script_turn *turn);
static choir_status deliver_target(struct sparse *sparse, struct script_turn *turn);
static choir_status deliver_lend(struct sparse *sparse, struct script_turn *turn);
static choir_status deliver_copy(struct sparse *sparse, struct script_turn *turn);
static choir_status deliver_lent(struct sparse *sparse, struct script_turn *turn);
static choir_status deliver_end(struct sparse *sparse, struct script_turn *turn);

static uint64_t val_count(const struct sparse *sparse)
{
	return sparse->count * sparse->facts.width;
}

/* The bytes of the result's values in the caller's dtype. */
static uint64_t val_bytes(const struct sparse *sparse)
{
	return val_count(sparse) * choir_dtype_bytes(sparse->call.val_dtype);
}

void deliver_start(struct sparse *sparse, uint64_t count)
{
	sparse->failure_is_local = true;
	sparse->count = count;
	sparse->to_note = count > 0;
	sparse->to_ind = sparse->call.recv_ind;
	sparse->to_val = sparse->call.recv_val;
	sparse->step = sparse->call.attr.alloc_fn != NULL ? deliver_alloc : deliver_target;
}

static choir_status callback_outcome(const struct sparse *sparse, const char *which)
{
	const struct kept_error *outcome = &sparse->outcome;

	if (outcome->status == CHOIR_SUCCESS)
		return CHOIR_SUCCESS;
	return error_set(outcome->status, "sparse_allreduce: %s returned %s%s%s", which,
	                 choir_status_name(outcome->status), outcome->text[0] == '\0' ? "" : ": ", outcome->text);
}

static void call_alloc(void *state)
{
	struct sparse *sparse = state;
	const choir_sparse_attr *attr = &sparse->call.attr;

	sparse->to_ind = sparse->to_val = choir_none();
	error_set(CHOIR_SUCCESS, "%s", "");
	error_keep(&sparse->outcome,
	           attr->alloc_fn(attr->fn_ctx, sparse->count, sparse->call.ind_dtype, val_count(sparse),
	                          sparse->call.val_dtype, &sparse->to_ind, &sparse->to_val));
}

static choir_status deliver_alloc(struct sparse *sparse, struct script_turn *turn)
{
	turn->what = SCRIPT_CALLBACK;
	turn->job = call_alloc;
	sparse->step = deliver_target;
	return CHOIR_SUCCESS;
}

static choir_status check_allocated(struct sparse *sparse)
{
	TRY(callback_outcome(sparse, "alloc_fn"));
	if (sparse->count > 0 && (sparse->to_ind.base == NULL || sparse->to_val.base == NULL))
		return error_set(CHOIR_ARGUMENT, "sparse_allreduce: alloc_fn gave no memory for %s",
		                 sparse->to_ind.base == NULL ? "the indices" : "the values");
	TRY(dev_range(sparse->env.device, "alloc_fn's indices", sparse->to_ind, sparse->count * sparse->ind_bytes,
	              sparse->ind_bytes));
	TRY(dev_range(sparse->env.device, "alloc_fn's values", sparse->to_val, val_bytes(sparse),
	              choir_dtype_bytes(sparse->call.val_dtype)));
	return dev_overlap(sparse->to_ind, sparse->count * sparse->ind_bytes, sparse->to_val, val_bytes(sparse), NULL,
	                   NULL)
	           ? error_set(CHOIR_ARGUMENT, "sparse_allreduce: alloc_fn's indices and values overlap")
	           : CHOIR_SUCCESS;
}

static bool too_small(const struct sparse *sparse)
{
	if (sparse->call.attr.alloc_fn != NULL || sparse->call.attr.completion_fn != NULL)
		return false;
	return sparse->count > sparse->call.ind_capacity || val_count(sparse) > sparse->call.val_capacity;
}

/* Where rows travel in another dtype than the caller's, fill writes to memory of the library's first. */
static choir_status take_wire_rows(struct sparse *sparse)
{
	sparse->final_val = sparse->target_val;
	if (sparse->wire_dtype == sparse->call.val_dtype)
		return CHOIR_SUCCESS;
	TRY(pool_take(&sparse->target_wire, sparse->count * sparse->row_bytes, "the rows of the result"));
	sparse->target_val = sparse->target_wire.ptr;
	return CHOIR_SUCCESS;
}

static bool is_in_mem(const struct dev_access *access)
{
	return access->stage && access->mem != NULL;
}

/* Finds the memory that fill writes to. */
static choir_status deliver_target(struct sparse *sparse, struct script_turn *turn)
{
	bool calls_back = sparse->call.attr.completion_fn != NULL;

	(void)turn;
	if (sparse->call.attr.alloc_fn != NULL)
		TRY(check_allocated(sparse));
	sparse->step = sparse->count == 0 ? deliver_flush : sparse->fill;
	if (sparse->count == 0)
		return CHOIR_SUCCESS;
	if (!calls_back && !too_small(sparse)) {
		TRY(dev_resolve(sparse->env.device, sparse->to_ind, sparse->count * sparse->ind_bytes, true,
		                &sparse->to_ind_access));
		TRY(dev_resolve(sparse->env.device, sparse->to_val, val_bytes(sparse), true, &sparse->to_val_access));
	}
	sparse->target_on_device =
	    sparse->job.on_device != NULL && is_in_mem(&sparse->to_ind_access) && is_in_mem(&sparse->to_val_access);
	if (sparse->target_on_device)
		return CHOIR_SUCCESS;
	sparse->target_ind = sparse->to_ind_access.direct ? sparse->to_ind_access.ptr : NULL;
	sparse->target_val = sparse->to_val_access.direct ? sparse->to_val_access.ptr : NULL;
	if (sparse->target_ind != NULL && sparse->target_val != NULL)
		return take_wire_rows(sparse);
	TRY(result_create(sparse->env.device, sparse->call.ind_dtype, sparse->call.val_dtype, sparse->count,
	                  sparse->facts.width, &sparse->result));
	sparse->target_ind = sparse->result->ind.ptr;
	sparse->target_val = sparse->result->val.ptr;
	return take_wire_rows(sparse);
}

choir_status deliver_flush(struct sparse *sparse, struct script_turn *turn)
{
	bool converts = sparse->wire_dtype != sparse->call.val_dtype;

	if (converts && script_defers(sparse, turn, val_bytes(sparse)))
		return CHOIR_SUCCESS;
	if (sparse->count > 0 && !sparse->target_on_device)
		convert_values(sparse->call.val_dtype, sparse->final_val, sparse->wire_dtype, sparse->target_val,
		               val_count(sparse));
	if (sparse->call.recv_ind_count != NULL)
		*sparse->call.recv_ind_count = sparse->count;
	if (sparse->call.recv_val_count != NULL)
		*sparse->call.recv_val_count = val_count(sparse);
	sparse->result_waits = too_small(sparse);
	if (sparse->result_waits)
		return error_prefix(
		    result_fits(sparse->count, sparse->call.ind_capacity, val_count(sparse), sparse->call.val_capacity),
		    "sparse_allreduce");
	if (sparse->call.attr.completion_fn != NULL) {
		sparse->step = deliver_lend;
		return CHOIR_SUCCESS;
	}
	sparse->step = deliver_copy;
	if (sparse->result == NULL)
		return CHOIR_SUCCESS;
	transfer_init(&sparse->ind_out, sparse->env.device, &sparse->to_ind_access, sparse->target_ind,
	              sparse->count * sparse->ind_bytes, true);
	transfer_init(&sparse->val_out, sparse->env.device, &sparse->to_val_access, sparse->final_val,
	              val_bytes(sparse), true);
	return CHOIR_SUCCESS;
}

static choir_status deliver_copy(struct sparse *sparse, struct script_turn *turn)
{
	return script_transfer(sparse, turn, &sparse->ind_out, &sparse->val_out, deliver_end);
}

/* A cl_mem of a result: the memory itself where the device sees it, else a copy. */
static choir_status lend_mem(const struct sparse *sparse, const struct pool_block *block, uint64_t bytes, cl_mem *out_p)
{
	bool in_place = choir_device_class(sparse->env.device) == CHOIR_CLASS_DIRECT;
	cl_int rc;

	*out_p = clCreateBuffer(choir_device_context(sparse->env.device),
	                        in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR, in_place ? block->bytes : bytes,
	                        block->ptr, &rc);
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clCreateBuffer", rc);
}

static choir_status lend_on_device(struct sparse *sparse)
{
	const choir_sparse_attr *attr = &sparse->call.attr;
	const struct sparse_result *result = sparse->result;
	cl_mem ind, val;
	choir_status st;

	TRY(lend_mem(sparse, &result->ind, sparse->count * sparse->ind_bytes, &ind));
	st = lend_mem(sparse, &result->val, val_bytes(sparse), &val);
	if (st != CHOIR_SUCCESS)
		goto release_ind;
	st = attr->completion_fn(attr->fn_ctx, choir_mem(ind, 0), sparse->count, sparse->call.ind_dtype,
	                         choir_mem(val, 0), val_count(sparse), sparse->call.val_dtype);
	clReleaseMemObject(val);
release_ind:
	clReleaseMemObject(ind);
	return st;
}

/* completion_fn gets host pointers of a rank whose send buffers are both host memory, or that has no other memory. */
static bool calls_back_host(const struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;

	return dev_is_host(sparse->env.device) ||
	       (call->send_ind.kind == CHOIR_BUFFER_HOST && call->send_val.kind == CHOIR_BUFFER_HOST);
}

static void call_completion(void *state)
{
	struct sparse *sparse = state;
	const choir_sparse_attr *attr = &sparse->call.attr;
	choir_buffer ind = choir_none(), val = choir_none();

	error_set(CHOIR_SUCCESS, "%s", "");
	if (sparse->count > 0 && !calls_back_host(sparse)) {
		error_keep(&sparse->outcome, lend_on_device(sparse));
		return;
	}
	if (sparse->count > 0) {
		ind = choir_host(sparse->result->ind.ptr);
		val = choir_host(sparse->result->val.ptr);
	}
	error_keep(&sparse->outcome, attr->completion_fn(attr->fn_ctx, ind, sparse->count, sparse->call.ind_dtype, val,
	                                                 val_count(sparse), sparse->call.val_dtype));
}

static choir_status deliver_lend(struct sparse *sparse, struct script_turn *turn)
{
	turn->what = SCRIPT_CALLBACK;
	turn->job = call_completion;
	sparse->step = deliver_lent;
	return CHOIR_SUCCESS;
}

static choir_status deliver_lent(struct sparse *sparse, struct script_turn *turn)
{
	(void)turn;
	sparse->step = deliver_end;
	return callback_outcome(sparse, "completion_fn");
}

static choir_status deliver_end(struct sparse *sparse, struct script_turn *turn)
{
	(void)sparse;
	turn->what = SCRIPT_DONE;
	return CHOIR_SUCCESS;
}
