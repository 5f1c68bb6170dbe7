/* SPDX-License-Identifier: MIT */
/* Design notes.  A step is a function that does a part of the call and names its successor, so each file reads from top
 * to bottom.  script_next runs steps until one of them fills a turn; one thread at a time calls it.  All decisions come
 * from gathered headers and counts, so all ranks take the same turns.  Ranks differ between exchanges only: in how
 * memory is reached and how the result is delivered. */
#include "sparse/state.h"

#include "base/dtype.h"
#include "base/float_control.h"
#include "kern/reduce.h"
#include "sparse/block.h"
#include "sparse/bucket.h"
#include "sparse/range_kernel.h"

#include <stdlib.h>
#include <string.h>

/* Reductions, conversions and the cost model compute under the same floating-point control word on all ranks. */
static choir_status script_next(void *state, struct script_turn *turn)
{
	struct sparse *sparse = state;
	uint64_t control = float_control_begin();
	choir_status st = CHOIR_SUCCESS;

	memset(turn, 0, sizeof *turn);
	turn->what = SPARSE_GO_ON;
	if (sparse->work_over) {
		*turn = sparse->left;
		st = error_again(&sparse->outcome);
		sparse->work_over = false;
	}
	while (st == CHOIR_SUCCESS && turn->what == SPARSE_GO_ON)
		st = sparse->step(sparse, turn);
	turn->failure_is_local = sparse->failure_is_local;
	turn->by_user = sparse->user != NULL;
	if (sparse->to_note)
		last_choice_note(sparse);
	sparse->to_note = false;
	if (st == CHOIR_SUCCESS && turn->what == SCRIPT_DONE)
		staged_write_end(sparse);
	float_control_end(control);
	return st;
}

/* Jobs and transfers end first: the device may still use the memory that is freed after them. */
static void script_destroy(void *state)
{
	struct sparse *sparse = state;

	if (sparse == NULL)
		return;
	transfer_fini(&sparse->ind_in);
	transfer_fini(&sparse->val_in);
	transfer_fini(&sparse->ind_out);
	transfer_fini(&sparse->val_out);
	range_job_destroy(sparse->range_job);
	coalesce_fini(&sparse->job);
	scratch_give(&sparse->own_ind);
	scratch_give(&sparse->own_rows);
	scratch_give(&sparse->scaled);
	sparse_result_free(sparse->result);
	sparse_close(sparse, sparse->views);
	sparse_close(sparse, sparse->region_views);
	sparse_return(sparse);
	share_give(sparse->own_shared.block, sparse->own_shared.used);
	share_give(sparse->list_shared.block, sparse->list_shared.used);
	share_give(sparse->region_shared.block, sparse->region_shared.used);
	pool_give(&sparse->ind_copy);
	pool_give(&sparse->val_copy);
	pool_give(&sparse->val_wide);
	pool_give(&sparse->target_wire);
	pool_give(&sparse->own);
	pool_give(&sparse->out);
	pool_give(&sparse->in);
	pool_give(&sparse->region);
	pool_give(&sparse->senders);
	cached_plan_release(sparse->plan);
	free(sparse->headers);
	free(sparse->lists);
	free(sparse->counts);
	free(sparse->block_bytes);
	free(sparse->to_bytes);
	free(sparse->bounds);
	free(sparse->views);
	free(sparse->region_views);
	free(sparse->borrowed);
	free(sparse->notes);
	free(sparse->buckets);
	user_op_release(sparse->user);
	free(sparse);
}

static const struct script_ops ops = { .next = script_next, .destroy = script_destroy };

static bool has_kernels(choir_device *device, choir_dtype dtype, choir_op op)
{
	return dev_has_long_loops(device) && reduce_kernel_supported(device, dtype, op) == CHOIR_SUCCESS;
}

choir_status sparse_values_possible(choir_device *device, choir_dtype dtype, choir_op op)
{
	struct user_op *user;
	bool runs;

	TRY(sparse_values_defined(dtype, op));
	if (!user_op_is(op))
		return CHOIR_SUCCESS;
	TRY(user_op_find("sparse_allreduce", op, &user));
	runs = user->config.fold != NULL || has_kernels(device, dtype, op);
	user_op_release(user);
	return runs ? CHOIR_SUCCESS
	            : error_set(CHOIR_UNSUPPORTED,
	                        "operator '%s' has no fold function, and the device has no kernels "
	                        "for rows of %s",
	                        choir_op_name(op), choir_dtype_name(dtype));
}

/* Can kernels do the call, and shall they? */
static bool wants_kernels(const struct sparse *sparse)
{
	choir_reduce_where where = dev_reduce_where(sparse->env.device);

	/* The kernels know the caller's dtype only. */
	if (sparse->call.attr.coalesce_mode == CHOIR_COALESCE_DISABLE ||
	    sparse->local_dtype != sparse->call.val_dtype || sparse->wire_dtype != sparse->local_dtype)
		return false;
	if (user_op_has_texts_alone(sparse->user))
		where = CHOIR_REDUCE_KERNEL;
	if (where == CHOIR_REDUCE_HOST || (where == CHOIR_REDUCE_AUTO && dev_is_cpu(sparse->env.device)))
		return false;
	return has_kernels(sparse->env.device, sparse->call.val_dtype, sparse->call.op);
}

/* KEEP_PRECISION: narrow rows become f32 at the start, and the result is rounded.  A 16-bit wire type: a rank coalesces
 * its f32 rows, then rounds them; all ranks merge rows of that type. */
static void choose_dtypes(struct sparse *sparse)
{
	const choir_sparse_attr *attr = &sparse->call.attr;
	choir_dtype dtype = sparse->call.val_dtype;
	bool narrow = dtype_is_narrow(dtype);

	sparse->local_dtype = narrow && attr->coalesce_mode == CHOIR_COALESCE_KEEP_PRECISION ? CHOIR_F32 : dtype;
	sparse->wire_dtype = sparse->local_dtype;
	if (attr->wire == CHOIR_SPARSE_WIRE_F16)
		sparse->wire_dtype = CHOIR_F16;
	if (attr->wire == CHOIR_SPARSE_WIRE_BF16)
		sparse->wire_dtype = CHOIR_BF16;
}

/* Holds the operator and looks whether it can do the call.  A text that does not compile is found before anything is
 * sent. */
static choir_status take_user_op(struct sparse *sparse)
{
	const struct user_op *user;
	const char *why = NULL;
	choir_status st;

	if (!user_op_is(sparse->call.op))
		return CHOIR_SUCCESS;
	TRY(user_op_find("sparse_allreduce", sparse->call.op, &sparse->user));
	user = sparse->user;
	sparse->kernels = wants_kernels(sparse);
	if (sparse->forced >= 0)
		why = sparse_method_refusal(&sparse_methods[sparse->forced], user);
	if (why != NULL)
		return error_set(CHOIR_ARGUMENT, "sparse_allreduce: algorithm %s %s",
		                 sparse_algorithm_name(sparse->forced), why);
	if (user->config.fold == NULL && !sparse->kernels && sparse->call.attr.coalesce_mode != CHOIR_COALESCE_DISABLE)
		return error_set(CHOIR_UNSUPPORTED,
		                 "sparse_allreduce: operator '%s' has no fold function, and kernels cannot do this "
		                 "call: the device, the mode or the wire type",
		                 user->name);
	if (!sparse->kernels)
		return CHOIR_SUCCESS;
	st = reduce_kernel_warm(sparse->env.device, sparse->call.val_dtype, sparse->call.op);
	return st == CHOIR_SUCCESS ? st : error_prefix(st, "sparse_allreduce");
}

/* Note [short lists] in stay.c. */
static void choose_who_coalesces(struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;
	bool is_asked_for =
		 dev_reduce_where(sparse->env.device) == CHOIR_REDUCE_KERNEL || user_op_has_texts_alone(sparse->user),
	     may_stay = sparse->env.device_bytes > 0 &&
	                (call->send_ind_count == 0 ||
	                 (sparse->forced >= 0 && sparse_methods[sparse->forced].start_device != NULL));

	sparse->long_by_kernels = wants_kernels(sparse);
	sparse->kernels = sparse->long_by_kernels &&
	                  (is_asked_for || may_stay || sparse_is_long(sparse, call->send_ind_count, sparse->row_bytes));
}

/* A forced algorithm may have no variant for shared memory. */
static bool wants_to_share(const struct sparse *sparse)
{
	const struct layout *layout = sparse->env.layout;

	if (sparse->kernels || layout->n_nodes > 1 || layout->n == 1)
		return false;
	return sparse->forced < 0 || sparse_methods[sparse->forced].start_shared != NULL;
}

static bool wants_to_stay(const struct sparse *sparse)
{
	bool is_forced = sparse->forced >= 0;

	if (is_forced && sparse_methods[sparse->forced].start_device == NULL)
		return false;
	return sparse_list_stays(sparse, is_forced);
}

static choir_status allocate(struct sparse *sparse)
{
	size_t n = (size_t)sparse->env.layout->n;

	sparse->headers = calloc(n, sizeof *sparse->headers);
	sparse->lists = calloc(n, sizeof *sparse->lists);
	sparse->bounds = calloc(n + 1, sizeof *sparse->bounds);
	sparse->views = calloc(n, sizeof *sparse->views);
	sparse->region_views = calloc(n, sizeof *sparse->region_views);
	sparse->borrowed = calloc(n, sizeof *sparse->borrowed);
	sparse->notes = calloc(n, sizeof *sparse->notes);
	sparse->buckets = calloc(n, sizeof *sparse->buckets);
	if (sparse->headers == NULL || sparse->lists == NULL || sparse->bounds == NULL || sparse->views == NULL ||
	    sparse->region_views == NULL || sparse->borrowed == NULL || sparse->notes == NULL ||
	    sparse->buckets == NULL)
		return error_no_memory("the headers of all ranks", n * sizeof *sparse->headers);
	return CHOIR_SUCCESS;
}

choir_status sparse_create(const struct script_env *env, const struct sparse_call *call,
                           const struct script_ops **ops_p, void **state_p)
{
	struct sparse *sparse = calloc(1, sizeof *sparse);
	choir_status st;

	if (sparse == NULL)
		return error_no_memory("a sparse_allreduce", sizeof *sparse);
	sparse->env = *env;
	if (env->costs == NULL)
		sparse->env.costs = &link_costs_default;
	sparse->call = *call;
	sparse->op_given = call->op;
	if (call->op == CHOIR_OP_PREMUL_SUM)
		sparse->call.op = CHOIR_OP_SUM;
	sparse->forced = call->algorithm == NULL ? -1 : sparse_method_find(call->algorithm);
	sparse->tensor = last_choice_tensor(call->name);
	sparse->call.algorithm = sparse->call.name = NULL; /* the caller may free its texts */
	sparse->ind_bytes = (uint32_t)choir_dtype_bytes(call->ind_dtype);
	choose_dtypes(sparse);
	sparse->elem_bytes = choir_dtype_bytes(sparse->wire_dtype);
	if (call->send_ind_count > 0)
		sparse->row_bytes = call->send_val_count / call->send_ind_count * sparse->elem_bytes;
	st = take_user_op(sparse);
	if (st == CHOIR_SUCCESS) /* else it would set another sentence */
		choose_who_coalesces(sparse);
	sparse->shares = wants_to_share(sparse);
	sparse->stays = wants_to_stay(sparse);
	sparse->stats =
	    (choir_sparse_stats){ .pairs_in = call->send_ind_count, .imbalance = 1, .algorithm = "", .link = "" };
	sparse->step = input_start;
	if (st == CHOIR_SUCCESS)
		st = allocate(sparse);
	if (st != CHOIR_SUCCESS) {
		script_destroy(sparse);
		return st;
	}
	*ops_p = &ops;
	*state_p = sparse;
	return CHOIR_SUCCESS;
}

const char *sparse_algorithm(const void *state)
{
	const struct sparse *sparse = state;

	return sparse->method == NULL ? "" : sparse->method->name;
}

void sparse_stats(const void *state, choir_sparse_stats *out)
{
	const struct sparse *sparse = state;
	size_t struct_size = out->struct_size;

	*out = sparse->stats;
	out->struct_size = struct_size;
	out->algorithm = sparse_algorithm(state);
	out->pairs_out = sparse->count;
}

struct sparse_result *sparse_take_result(void *state)
{
	struct sparse *sparse = state;
	struct sparse_result *result = sparse->result_waits ? sparse->result : NULL;

	if (sparse->result_waits)
		sparse->result = NULL;
	return result;
}
