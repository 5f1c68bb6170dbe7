/* SPDX-License-Identifier: MIT */
/* bitmap_pack: ascending indices to a bit an index; bitmap_unpack: back.  Rows stay as they lie in either form. */
#include "kernel.h"

#include "sparse/dense.h"
#include "sparse/format.h"

#include <stdlib.h>

enum { FROM, TO }; /* and, on the device, of unpack: */

struct bits {
	struct index_range range;
	uint64_t words32;
};

static const char *unfit(const struct kernel_shape *shape, choir_device *device)
{
	(void)device;
	return shape->sparse.rows == 0 ? "there is nothing to do for no pairs" : NULL;
}

/* The two forms of the same indices: *ind_p and *bits_p. */
static bool make(struct kernel_work *work, void **ind_p, uint64_t **bits_p)
{
	const struct kernel_shape *shape = work->shape;
	struct sparse_shape sparse = kernel_sparse(shape, 1);
	struct bits *bits = work->state = calloc(1, sizeof *bits);
	struct sparse_rows pairs;

	sparse.args.width = 1;
	sparse.dtype = CHOIR_F32;
	if (bits == NULL || !sparse_data_expect(&sparse, &pairs))
		return false;
	free(pairs.val);
	bits->range = (struct index_range){ .lo = 0, .hi = (int64_t)shape->sparse.range - 1 };
	bits->words32 = format_bits_bytes(bits->range) / 4;
	*ind_p = pairs.ind;
	*bits_p = calloc(bits->words32, 4);
	work->items = work->items_out = pairs.rows;
	work->moved_bytes = pairs.rows * (uint64_t)shape->ind_bytes + (shape->sparse.range + 7) / 8;
	for (size_t i = 0; *bits_p != NULL && i < pairs.rows; i++) {
		uint64_t x =
		    (uint64_t)index_at(pairs.ind, (struct index_form){ .bytes = (uint32_t)shape->ind_bytes }, i);

		(*bits_p)[x / 64] |= UINT64_C(1) << x % 64;
	}
	return true;
}

static bool open_pack(struct kernel_work *work)
{
	uint64_t *bits;
	void *ind;

	if (!make(work, &ind, &bits))
		return false;
	if (kernel_add_input(work, ind, work->items * work->shape->ind_bytes, work->shape->ind_bytes))
		return kernel_add_output(work, bits, ((struct bits *)work->state)->words32 * 4, 8);
	free(bits);
	return false;
}

static bool open_unpack(struct kernel_work *work)
{
	uint64_t *bits;
	void *ind;

	if (!make(work, &ind, &bits))
		return false;
	if (kernel_add_input(work, bits, ((struct bits *)work->state)->words32 * 4, 8))
		return kernel_add_output(work, ind, work->items * work->shape->ind_bytes, work->shape->ind_bytes);
	free(ind);
	return false;
}

static struct index_form form_of(const struct kernel_work *work)
{
	return (struct index_form){ .bytes = (uint32_t)work->shape->ind_bytes };
}

static choir_status run_pack(struct kernel_work *work)
{
	const struct bits *bits = work->state;
	struct pairs pairs = { .ind = kernel_host(work, FROM), .count = work->items, .form = form_of(work) };
	struct dense_list list = { .ind = kernel_mem(work, FROM), .form = form_of(work), .n = work->items };
	struct dense_bitmap bitmap = { .mem = kernel_mem(work, TO), .words = bits->words32 };
	const cl_uint zero = 0;
	cl_int rc;

	if (work->device == NULL) {
		format_write(FORMAT_BITMAP, bits->range, &pairs, 0, kernel_host(work, TO));
		return CHOIR_SUCCESS;
	}
	rc = clEnqueueFillBuffer(dev_queue(work->device), bitmap.mem, &zero, sizeof zero, 0, bits->words32 * 4, 0, NULL,
	                         NULL);
	if (rc != CL_SUCCESS)
		return error_cl("clEnqueueFillBuffer", rc);
	TRY(dense_kernel_mark(work->device, &list, &bitmap, NULL));
	return kernel_finish(work->device);
}

static choir_status unpack_on_device(struct kernel_work *work, cl_mem scratch, cl_mem before, cl_mem total)
{
	const struct bits *bits = work->state;
	struct dense_bitmap bitmap = { .mem = kernel_mem(work, FROM), .words = bits->words32 };

	TRY(dense_kernel_number(work->device, &bitmap, scratch, before, total, NULL));
	TRY(dense_kernel_indices(work->device, &bitmap, before, kernel_mem(work, TO), form_of(work), NULL));
	return kernel_finish(work->device);
}

/* The memory between the kernels is taken and given back in the call, as a caller would. */
static choir_status run_unpack(struct kernel_work *work)
{
	const struct bits *bits = work->state;
	cl_mem between[3] = { NULL };
	uint64_t bytes[3] = { 0, bits->words32 * 4, 4 };
	choir_status st = CHOIR_SUCCESS;

	if (work->device == NULL) {
		format_read(FORMAT_BITMAP, bits->range, work->items, 0, kernel_host(work, FROM), kernel_host(work, TO),
		            form_of(work), NULL);
		return CHOIR_SUCCESS;
	}
	bytes[0] = dense_kernel_spans(work->device, bits->words32) * 4;
	for (int i = 0; i < 3 && st == CHOIR_SUCCESS; i++)
		st = dev_buffer_create(work->device, bytes[i], &between[i]);
	if (st == CHOIR_SUCCESS)
		st = unpack_on_device(work, between[0], between[1], between[2]);
	for (int i = 0; i < 3; i++)
		dev_buffer_free(between[i]);
	return st;
}

const struct kernel kernel_bitmap_pack = {
	.name = "bitmap_pack",
	.about = "indices to a bit an index",
	.unit = "pairs",
	.unfit = unfit,
	.open = open_pack,
	.run = run_pack,
};
const struct kernel kernel_bitmap_unpack = {
	.name = "bitmap_unpack",
	.about = "a bit an index to indices",
	.unit = "pairs",
	.unfit = unfit,
	.open = open_unpack,
	.run = run_unpack,
};
