/* SPDX-License-Identifier: MIT */
/* A result in memory that the host does not reach: its pairs go there, and kernels write the dense tensor and the bits
 * of `involved`. */
#include "topk/run.h"

#include "sparse/dense.h"

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

static choir_status fill_dense(struct topk_run *run, const struct operand *to)
{
	uint64_t first = list_find(&run->kept, &run->types, to->first),
		 end = list_find(&run->kept, &run->types, to->first + to->bytes / to->elem_bytes);
	struct dense_list list = { .form = run->types.form, .n = end - first };
	struct dense_rows from = { .elem_bytes = to->elem_bytes, .width = 1 }, dense = from;

	dense.mem = to->access.mem;
	dense.off = to->access.off;
	run->far.busy = true;
	TRY(dev_fill_zero(run->env.device, dense.mem, dense.off, to->bytes, to->elem_bytes, NULL));
	if (list.n == 0)
		return CHOIR_SUCCESS;
	TRY(far_upload(run, (const unsigned char *)run->kept.ind.ptr + first * list.form.bytes,
	               list.n * list.form.bytes, &list.ind));
	TRY(far_upload(run, (const unsigned char *)run->values + first * to->elem_bytes, list.n * to->elem_bytes,
	               &from.mem));
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
