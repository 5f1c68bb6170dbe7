/* SPDX-License-Identifier: MIT */
/* A result in memory that the host does not reach: its pairs go there, and kernels write the dense tensor and the bits
 * of `involved`. */
#include "topk/run.h"

#include "kern/reduce.h"
#include "sparse/dense.h"
#include "dev/launch.h"

#include <stdio.h>

static bool bits_wanted(const struct topk_run *run)
{
	return run->request.operands[TOPK_INVOLVED].by_kernel;
}

bool far_result_wanted(const struct topk_run *run)
{
	bool wanted = bits_wanted(run);

	for (size_t i = 0; i < run->request.n_tensors; i++)
		wanted |= topk_dense(&run->request, i)->by_kernel;
	return wanted;
}

/* The result's values in the caller's dtype, averaged if that is asked for, where they were added. */
static choir_status finish_values(struct topk_run *run, const struct operand *to, cl_mem *out)
{
	const struct topk_settings *settings = &run->state->settings;
	struct launch_shape shape = launch_shape_of(run->env.device, run->kept.count);
	cl_mem sums = run->far.sum_val.mem;
	cl_ulong n = run->kept.count;
	cl_int ranks = run->env.layout->n;
	char options[128];

	*out = sums;
	if (settings->dtype == run->types.work && settings->op != CHOIR_OP_MEAN)
		return CHOIR_SUCCESS;
	TRY(far_buffer(run, n * to->elem_bytes, out));
	const struct launch_arg args[] = { LAUNCH_ARG(sums), LAUNCH_ARG(n), LAUNCH_ARG(ranks), { sizeof *out, out } };
	const struct launch it = { .source = "merge.cl",
		                   .options = options,
		                   .kernel = "merge_finish",
		                   .args = args,
		                   .n_args = 4,
		                   .global = launch_elements(shape, n),
		                   .local = shape.group };

	snprintf(options, sizeof options, "-DDTYPE=%s -DOP=%s -DFINAL=1 -DINDEX=int -DGROUP=%zu -DSPAN=%zu",
	         reduce_dtype_option(settings->dtype), settings->op == CHOIR_OP_MEAN ? "MEAN" : "SUM", shape.group,
	         shape.span);
	return launch_run(run->env.device, &it, NULL);
}

/* The result's pairs [first, first + list->n) on the device, where they may be already. */
static choir_status bring_pairs(struct topk_run *run, const struct operand *to, uint64_t first, struct dense_list *list,
                                cl_mem *values)
{
	const unsigned char *ind = run->kept.ind.ptr, *val = run->values;

	if (run->far.kept_ind != NULL) {
		list->ind = run->far.kept_ind;
		list->off = first * list->form.bytes;
	} else {
		TRY(far_upload(run, ind + first * list->form.bytes, list->n * list->form.bytes, &list->ind));
	}
	if (run->far.sum_val.mem != NULL)
		return finish_values(run, to, values);
	return far_upload(run, val + first * to->elem_bytes, list->n * to->elem_bytes, values);
}

static choir_status fill_dense(struct topk_run *run, const struct operand *to)
{
	bool whole = run->request.n_tensors == 1;
	uint64_t first = whole ? 0 : list_find(&run->kept, &run->types, to->first),
		 end = whole ? run->kept.count
	                     : list_find(&run->kept, &run->types, to->first + to->bytes / to->elem_bytes);
	struct dense_list list = { .form = run->types.form, .n = end - first };
	struct dense_rows from = { .elem_bytes = to->elem_bytes, .width = 1 }, dense = from;

	dense.mem = to->access.mem;
	dense.off = to->access.off;
	run->far.busy = true;
	TRY(dev_fill_zero(run->env.device, dense.mem, dense.off, to->bytes, to->elem_bytes, NULL));
	if (list.n == 0)
		return CHOIR_SUCCESS;
	TRY(bring_pairs(run, to, first, &list, &from.mem));
	return dense_kernel_scatter(run->env.device, &list, &from, (int64_t)to->first, &dense, NULL);
}

/* In a buffer of the library's, since the kernels write from a buffer's first byte on. */
static choir_status fill_bits(struct topk_run *run)
{
	const struct operand *to = &run->request.operands[TOPK_INVOLVED];
	struct dense_list list = { .form = run->types.form, .n = run->involved.count };
	struct dense_bitmap bitmap = { .words = to->bytes / 4 };
	struct dev_bytes from = { 0 }, into = { .mem = to->access.mem, .off = to->access.off };

	TRY(far_buffer(run, to->bytes, &bitmap.mem));
	run->far.busy = true;
	TRY(dense_kernel_clear(run->env.device, &bitmap, NULL));
	if (list.n > 0) {
		TRY(far_upload(run, run->involved.ind.ptr, list.n * run->types.form.bytes, &list.ind));
		TRY(dense_kernel_mark(run->env.device, &list, &bitmap, NULL));
	}
	from.mem = bitmap.mem;
	return dev_copy(run->env.device, into, from, to->bytes, NULL);
}

choir_status far_result_write(struct topk_run *run)
{
	for (size_t i = 0; i < run->request.n_tensors; i++)
		if (topk_dense(&run->request, i)->by_kernel)
			TRY(fill_dense(run, topk_dense(&run->request, i)));
	return bits_wanted(run) ? fill_bits(run) : CHOIR_SUCCESS;
}
