/* SPDX-License-Identifier: MIT */
/* The rank's pairs: where the host coalesces, by a pointer, the caller's or to a copy; where kernels do, they read a
 * cl_mem in place, and coalescing uploads anything else. */
#include "sparse/range_kernel.h"
#include "sparse/state.h"

static choir_status input_move(struct sparse *sparse, struct script_turn *turn);
static choir_status input_range(struct sparse *sparse, struct script_turn *turn);

static choir_status reach(struct sparse *sparse, choir_buffer buffer, uint64_t bytes, struct dev_access *access,
                          struct transfer *in, struct pool_block *copy, const void **view)
{
	TRY(dev_resolve(sparse->env.device, buffer, bytes, false, access));
	if (sparse->kernels && buffer.kind == CHOIR_BUFFER_MEM && dev_kernels_may(access))
		return CHOIR_SUCCESS;
	if (access->direct) {
		*view = access->ptr;
		return CHOIR_SUCCESS;
	}
	TRY(pool_take(copy, bytes, "a copy of the pairs"));
	*view = copy->ptr;
	transfer_init(in, sparse->env.device, access, copy->ptr, bytes, false);
	return CHOIR_SUCCESS;
}

/* For the rank's own list.  An operator of texts alone has no other way. */
static bool kernels_have_room(const struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;
	uint64_t pairs = call->send_ind_count;

	if (pairs == 0)
		return true;
	if (user_op_has_texts_alone(sparse->user))
		return pairs <= COALESCE_KERNEL_MOST;
	return coalesce_device_has_room(sparse->env.device, pairs, call->send_val_count / pairs, sparse->local_dtype);
}

choir_status input_start(struct sparse *sparse, struct script_turn *turn)
{
	const struct sparse_call *call = &sparse->call;
	const void *val = NULL;

	(void)turn;
	staged_write_begin(sparse);
	if (!kernels_have_room(sparse))
		sparse->kernels = sparse->long_by_kernels = sparse->stays = false;
	sparse->step = header_start;
	sparse->header.lo = 0;
	sparse->header.hi = -1;
	if (call->send_ind_count == 0)
		return CHOIR_SUCCESS;
	sparse->header.raw_pairs = call->send_ind_count;
	sparse->header.width = call->send_val_count / call->send_ind_count;
	sparse->step = input_move;
	TRY(reach(sparse, call->send_ind, call->send_ind_count * sparse->ind_bytes, &sparse->ind_access,
	          &sparse->ind_in, &sparse->ind_copy, &sparse->ind));
	TRY(reach(sparse, call->send_val, call->send_val_count * choir_dtype_bytes(call->val_dtype),
	          &sparse->val_access, &sparse->val_in, &sparse->val_copy, &val));
	sparse->val = val;
	if (sparse->ind == NULL)
		TRY(range_job_create(sparse->env.device, call->send_ind.base, call->send_ind.offset_bytes,
		                     sparse->ind_bytes, call->send_ind_count, &sparse->range_job));
	return CHOIR_SUCCESS;
}

static choir_status input_move(struct sparse *sparse, struct script_turn *turn)
{
	return script_transfer(sparse, turn, &sparse->ind_in, &sparse->val_in, input_range);
}

/* Finds the range of the rank's indices.  A negative one goes into the header and ends the call on all ranks: the
 * others must not wait for this one. */
static choir_status input_range(struct sparse *sparse, struct script_turn *turn)
{
	struct sparse_header *header = &sparse->header;
	struct index_range range;
	bool done = true;

	if (sparse->range_job == NULL && script_defers(sparse, turn, header->raw_pairs * sparse->ind_bytes))
		return CHOIR_SUCCESS;
	if (sparse->range_job != NULL)
		TRY(range_job_poll(sparse->range_job, &range, &header->bad_at, &header->bad_index, &done));
	else
		range = coalesce_range_host(sparse->ind, sparse->ind_bytes, header->raw_pairs, &header->bad_at);
	if (!done) {
		script_wait(turn);
		return range_job_watch(sparse->range_job, sparse->env.wake, NULL);
	}
	if (header->bad_at < header->raw_pairs) {
		if (sparse->ind != NULL)
			header->bad_index =
			    index_at(sparse->ind, (struct index_form){ .bytes = sparse->ind_bytes }, header->bad_at);
		sparse->step = header_start;
		return CHOIR_SUCCESS;
	}
	header->lo = range.lo;
	header->hi = range.hi;
	sparse->step = local_start;
	return CHOIR_SUCCESS;
}
