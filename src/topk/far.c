/* SPDX-License-Identifier: MIT */
/* The work on acc and momentum in the memory of a device that the host does not reach: only what is selected comes to
 * the host.  Design notes: all commands go to the internal in-order queue, so none waits for another one; the host
 * waits, without blocking, where it needs what they leave.  Updates (clear, add) are enqueued and awaited at the end of
 * the call; what they read stays until then. */
#include "topk/algorithm.h"

#include "kern/reduce.h"
#include "sparse/dense.h"
#include "dev/launch.h"

#include <stdio.h>

/* The kernels of accumulate.cl for this call. */
static choir_status launch(struct topk_run *run, const char *kernel, const struct launch_arg *args, size_t n_args,
                           uint64_t elements)
{
	const struct topk_settings *settings = &run->state->settings;
	struct launch_shape shape = launch_shape_of(run->env.device, elements);
	char options[128];
	struct launch it = { .source = "accumulate.cl",
		             .options = options,
		             .kernel = kernel,
		             .args = args,
		             .n_args = n_args,
		             .global = launch_elements(shape, elements),
		             .local = shape.group };

	snprintf(options, sizeof options,
	         "-DDTYPE=%s -DOP=SUM -DINDEX=%s -DGROUP=%zu -DSPAN=%zu -DMOMENTUM=%d -DNANS=%d",
	         reduce_dtype_option(settings->dtype), run->types.form.bytes == 4 ? "int" : "long", shape.group,
	         shape.span, settings->momentum > 0, settings->nan_fails);
	run->far.busy = true;
	return launch_run(run->env.device, &it, NULL);
}

/* Tensors one behind the other in a buffer of the library's. */
static choir_status join_grads(struct topk_run *run, cl_mem *mem_p)
{
	const struct topk_request *request = &run->request;
	uint64_t elem_bytes = topk_grad(request, 0)->elem_bytes;

	TRY(far_buffer(run, run->types.n * elem_bytes, mem_p));
	run->far.busy = true;
	for (size_t i = 0; i < request->n_tensors; i++) {
		const struct operand *grad = topk_grad(request, i);
		struct dev_bytes to = { .mem = *mem_p, .off = grad->first * elem_bytes },
				 from = { .mem = grad->access.mem, .off = grad->access.off };
		struct dev_access access = dev_buffer_access(*mem_p, to.off, grad->bytes);

		if (grad->bytes > 0 && grad->by_kernel)
			TRY(dev_copy(run->env.device, to, from, grad->bytes, NULL));
		else if (grad->bytes > 0)
			TRY(dev_write(run->env.device, &access, 0, grad->ptr, grad->bytes, NULL));
	}
	return CHOIR_SUCCESS;
}

/* Where kernels find the gradient: in the caller's buffer, or in a copy. */
static choir_status find_grad(struct topk_run *run, cl_mem *mem_p, cl_ulong *at_p)
{
	const struct operand *grad = topk_grad(&run->request, 0);

	*at_p = 0;
	if (run->request.n_tensors > 1 || !grad->by_kernel)
		return join_grads(run, mem_p);
	*mem_p = grad->access.mem;
	*at_p = grad->access.off / grad->elem_bytes;
	return CHOIR_SUCCESS;
}

/* A number in the type that kernels take it in. */
union number {
	cl_float narrow;
	cl_double wide;
};

static union number number_of(const struct topk_run *run, double value)
{
	if (run->types.work == CHOIR_F64)
		return (union number){ .wide = value };
	return (union number){ .narrow = (cl_float)value };
}

static choir_status launch_accumulate(struct topk_run *run)
{
	const struct topk_settings *settings = &run->state->settings;
	bool momentum = settings->momentum > 0;
	union number decay = number_of(run, settings->decay), scale = number_of(run, settings->scale),
		     factor = number_of(run, settings->momentum);
	cl_mem grad, residual = run->state->residual.far, acc = run->acc.far;
	cl_mem old = momentum ? run->state->velocity.far : residual, velocity = momentum ? run->velocity.far : acc,
	       nan_at = settings->nan_fails ? run->far.nan_at : acc;
	cl_ulong at, n = run->types.n;
	size_t number_bytes = run->types.elem_bytes;

	TRY(find_grad(run, &grad, &at));
	const struct launch_arg args[] = {
		LAUNCH_ARG(grad),
		LAUNCH_ARG(at),
		LAUNCH_ARG(n),
		LAUNCH_ARG(residual),
		LAUNCH_ARG(old),
		{ number_bytes, &decay },
		{ number_bytes, &scale },
		{ number_bytes, &factor },
		LAUNCH_ARG(acc),
		LAUNCH_ARG(velocity),
		LAUNCH_ARG(nan_at),
	};

	return launch(run, "accumulate", args, sizeof args / sizeof *args, n);
}

static choir_status looked_for_nan(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	run->nan_at = run->far.nan_found < UINT32_MAX ? run->far.nan_found : UINT64_MAX;
	run->step = run->far.fetched;
	return CHOIR_SUCCESS;
}

static choir_status accumulate(struct topk_run *run, topk_step then)
{
	static const cl_uint none = UINT32_MAX;
	struct topk_far *far = &run->far;
	struct dev_access access;

	TRY(topk_state_take(run->state, &run->acc, &run->velocity));
	run->nan_at = UINT64_MAX;
	run->step = then;
	if (!run->state->settings.nan_fails)
		return launch_accumulate(run);
	TRY(far_buffer(run, sizeof none, &far->nan_at));
	access = dev_buffer_access(far->nan_at, 0, sizeof none);
	far->busy = true;
	TRY(dev_write(run->env.device, &access, 0, &none, sizeof none, NULL));
	TRY(launch_accumulate(run));
	TRY(dev_read(run->env.device, &access, 0, &far->nan_found, sizeof none, NULL));
	far->fetched = then;
	return far_wait(run, looked_for_nan);
}

static choir_status collect(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	return far_collect(run, run->candidates.least, run->candidates.room, run->far.collected);
}

static choir_status accumulate_above(struct topk_run *run, uint64_t least, uint64_t room, topk_step then)
{
	run->candidates.least = least;
	run->candidates.room = room;
	run->far.collected = then;
	return accumulate(run, collect);
}

/* The device finds the k largest itself. */
static choir_status accumulate_top(struct topk_run *run, uint64_t k, topk_step then)
{
	(void)k;
	return accumulate(run, then);
}

static struct dense_rows rows_of(const struct topk_run *run, cl_mem mem)
{
	return (struct dense_rows){ .mem = mem, .elem_bytes = run->types.elem_bytes, .width = 1 };
}

/* A list's indices on the device. */
static choir_status upload_indices(struct topk_run *run, const struct topk_list *list, struct dense_list *out)
{
	*out = (struct dense_list){ .form = run->types.form, .n = list->count };
	return far_upload(run, list->ind.ptr, list->count * run->types.form.bytes, &out->ind);
}

static choir_status gather(struct topk_run *run, topk_step then)
{
	struct topk_list *list = &run->selected;
	uint64_t bytes = list->count * run->types.elem_bytes;
	struct dense_rows dense = rows_of(run, run->acc.far), rows = rows_of(run, NULL);
	struct dense_list ind;
	struct dev_access access;

	run->step = then;
	if (list->count == 0)
		return CHOIR_SUCCESS;
	TRY(upload_indices(run, list, &ind));
	TRY(far_buffer(run, bytes, &rows.mem));
	TRY(dense_kernel_gather(run->env.device, &ind, &dense, 0, &rows, NULL));
	access = dev_buffer_access(rows.mem, 0, bytes);
	TRY(dev_read(run->env.device, &access, 0, list->val.ptr, bytes, NULL));
	return far_wait(run, then);
}

/* The sample's values are in run->selected. */
static choir_status collect_sampled(struct topk_run *run, struct script_turn *turn)
{
	(void)turn;
	TRY(topk_sample_key(run, run->selected.val.ptr, run->candidates.least, &run->candidates.least));
	return far_collect(run, run->candidates.least, run->candidates.room, run->far.collected);
}

static choir_status gather_sample(struct topk_run *run, struct script_turn *turn)
{
	struct topk_list *list = &run->selected;
	uint64_t count = topk_sample_count(run);

	(void)turn;
	TRY(list_take(list, &run->types, count));
	for (uint64_t i = 0; i < count; i++)
		if (run->types.form.bytes == 4)
			((int32_t *)list->ind.ptr)[i] = (int32_t)topk_sample_index(run, count, i);
		else
			((int64_t *)list->ind.ptr)[i] = (int64_t)topk_sample_index(run, count, i);
	list->count = count;
	return gather(run, collect_sampled);
}

static choir_status accumulate_sampled(struct topk_run *run, uint64_t k, uint64_t room, topk_step then)
{
	if (run->types.n == 0)
		return accumulate(run, then);
	run->candidates.least = k; /* until the sample says what it is */
	run->candidates.room = room;
	run->far.collected = then;
	return accumulate(run, gather_sample);
}

static choir_status whole(struct topk_run *run, topk_step then)
{
	uint64_t bytes = run->types.n * run->types.elem_bytes;
	struct dev_access access = dev_buffer_access(run->acc.far, 0, bytes);

	TRY(pool_take(&run->whole_block, bytes, "what was accumulated"));
	run->whole = run->whole_block.ptr;
	run->far.busy = true;
	TRY(dev_read(run->env.device, &access, 0, run->whole_block.ptr, bytes, NULL));
	return far_wait(run, then);
}

static choir_status clear(struct topk_run *run, const struct topk_list *list)
{
	const cl_mem tensors[] = { run->acc.far, run->velocity.far };
	struct dense_list ind;

	if (list->count == 0)
		return CHOIR_SUCCESS;
	TRY(upload_indices(run, list, &ind));
	for (int i = 0; i < 2; i++) {
		struct dense_rows rows = rows_of(run, tensors[i]);

		if (tensors[i] != NULL)
			TRY(dense_kernel_zero(run->env.device, &ind, 0, &rows, NULL));
	}
	return CHOIR_SUCCESS;
}

static choir_status add(struct topk_run *run, const struct topk_list *list)
{
	struct dense_list ind;
	cl_ulong n = list->count;
	cl_mem val, acc = run->acc.far;

	if (n == 0)
		return CHOIR_SUCCESS;
	TRY(upload_indices(run, list, &ind));
	TRY(far_upload(run, list->val.ptr, n * run->types.elem_bytes, &val));
	const struct launch_arg args[] = { LAUNCH_ARG(ind.ind), LAUNCH_ARG(val), LAUNCH_ARG(n), LAUNCH_ARG(acc) };

	return launch(run, "accumulate_list", args, sizeof args / sizeof *args, n);
}

static choir_status clear_all(struct topk_run *run)
{
	struct topk_tensor *const tensors[] = { &run->acc, &run->velocity };

	run->far.busy = true;
	for (int i = 0; i < 2; i++)
		if (tensors[i]->far != NULL)
			TRY(tensor_zero(tensors[i], run->env.device, run->types.n * run->types.elem_bytes,
			                run->types.elem_bytes));
	return CHOIR_SUCCESS;
}

const struct topk_access topk_access_far = { .accumulate = accumulate,
	                                     .accumulate_above = accumulate_above,
	                                     .accumulate_top = accumulate_top,
	                                     .accumulate_sampled = accumulate_sampled,
	                                     .collect = far_collect,
	                                     .find_top = far_find_top,
	                                     .find_limit = far_find_limit,
	                                     .count = far_count,
	                                     .mean_std = far_mean_std,
	                                     .gather = gather,
	                                     .whole = whole,
	                                     .clear = clear,
	                                     .add = add,
	                                     .clear_all = clear_all,
	                                     .merge = far_merge,
	                                     .intersect = far_intersect };
