/* SPDX-License-Identifier: MIT */
/* scatter: distinct ascending pairs to the rows of a tensor of --range rows.  gather: the other way.  intersect: which
 * of my indices, unsorted and with duplicates, are in a given bitmap. */
#include "kernel.h"

#include "bench/data/check.h"
#include "sparse/dense.h"

#include <stdlib.h>

enum { IND, ROWS, DENSE }; /* gather: DENSE, then ROWS */
enum { BITMAP = 1, FOUND };

static const char *unfit(const struct kernel_shape *shape, choir_device *device)
{
	(void)device;
	return shape->sparse.rows == 0 ? "there is nothing to do for no pairs"
	                               : sparse_data_why_not(shape->dtype, CHOIR_OP_SUM);
}

static size_t index_of(const struct kernel_shape *shape, const void *ind, size_t i)
{
	return (size_t)index_at(ind, (struct index_form){ .bytes = (uint32_t)shape->ind_bytes }, i);
}

/* The pairs' indices as input 0; *rows_p = their rows, the caller's. */
static bool add_pairs(struct kernel_work *work, struct sparse_rows *pairs)
{
	const struct kernel_shape *shape = work->shape;
	struct sparse_shape sparse = kernel_sparse(shape, 1);

	if (!sparse_data_expect(&sparse, pairs))
		return false;
	work->items = work->items_out = pairs->rows;
	work->moved_bytes = pairs->rows * (uint64_t)(shape->ind_bytes + 2 * shape->row_bytes);
	if (kernel_add_input(work, pairs->ind, pairs->rows * shape->ind_bytes, shape->ind_bytes))
		return true;
	free(pairs->val);
	return false;
}

static bool open_scatter(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	size_t row = shape->row_bytes, bytes = shape->sparse.range * row;
	char *dense = malloc(bytes);
	struct sparse_rows pairs;

	if (dense == NULL || !add_pairs(work, &pairs)) {
		free(dense);
		return false;
	}
	memset(dense, CHECK_SENTINEL, bytes);
	for (size_t i = 0; i < pairs.rows; i++)
		memcpy(dense + index_of(shape, pairs.ind, i) * row, (char *)pairs.val + i * row, row);
	if (!kernel_add_input(work, pairs.val, pairs.rows * row, row)) {
		free(dense);
		return false;
	}
	return kernel_add_output(work, dense, bytes, row);
}

static bool open_gather(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	size_t row = shape->row_bytes, bytes = shape->sparse.range * row;
	unsigned char *dense = malloc(bytes);
	struct sparse_rows pairs;

	if (dense == NULL || !add_pairs(work, &pairs)) {
		free(dense);
		return false;
	}
	for (size_t i = 0; i < bytes; i++)
		dense[i] = (unsigned char)(i * 0x9e3779b1u >> 24);
	for (size_t i = 0; i < pairs.rows; i++)
		memcpy((char *)pairs.val + i * row, dense + index_of(shape, pairs.ind, i) * row, row);
	if (!kernel_add_input(work, dense, bytes, row)) {
		free(pairs.val);
		return false;
	}
	return kernel_add_output(work, pairs.val, pairs.rows * row, row);
}

static struct index_form form_of(const struct kernel_work *work)
{
	return (struct index_form){ .bytes = (uint32_t)work->shape->ind_bytes };
}

static struct dense_list list_of(const struct kernel_work *work)
{
	return (struct dense_list){ .ind = kernel_mem(work, IND), .form = form_of(work), .n = work->items };
}

static struct dense_rows rows_of(const struct kernel_work *work, int i)
{
	return (struct dense_rows){ .mem = kernel_mem(work, i),
		                    .elem_bytes = work->shape->elem_bytes,
		                    .width = work->shape->sparse.width };
}

static choir_status run_scatter(struct kernel_work *work)
{
	struct pairs pairs = { .ind = kernel_host(work, IND),
		               .rows = kernel_host(work, ROWS),
		               .count = work->items,
		               .form = form_of(work) };
	struct dense_list list = list_of(work);
	struct dense_rows rows = rows_of(work, ROWS), dense = rows_of(work, DENSE);

	if (work->device == NULL) {
		dense_scatter(&pairs, work->shape->row_bytes, 0, kernel_host(work, DENSE));
		return CHOIR_SUCCESS;
	}
	TRY(dense_kernel_scatter(work->device, &list, &rows, 0, &dense, NULL));
	return kernel_finish(work->device);
}

static choir_status run_gather(struct kernel_work *work)
{
	struct dense_list list = list_of(work);
	struct dense_rows dense = rows_of(work, ROWS), rows = rows_of(work, DENSE);

	if (work->device == NULL) {
		dense_gather(kernel_host(work, IND), form_of(work), work->items, work->shape->row_bytes, 0,
		             kernel_host(work, ROWS), kernel_host(work, DENSE));
		return CHOIR_SUCCESS;
	}
	TRY(dense_kernel_gather(work->device, &list, &dense, 0, &rows, NULL));
	return kernel_finish(work->device);
}

/* The bitmap is of the second of two ranks' indices, the list the first one's. */
static bool open_intersect(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	struct sparse_shape sparse = kernel_sparse(shape, 2);
	size_t words = (shape->sparse.range + 63) / 64;
	uint64_t *bitmap = calloc(words, sizeof *bitmap);
	unsigned char *found;
	struct sparse_rows mine, theirs;

	if (bitmap == NULL || !sparse_data_make(&sparse, 1, &theirs)) {
		free(bitmap);
		return false;
	}
	for (size_t i = 0; i < theirs.rows; i++)
		bitmap[index_of(shape, theirs.ind, i) / 64] |= UINT64_C(1) << index_of(shape, theirs.ind, i) % 64;
	sparse_data_fini(&theirs);
	if (!sparse_data_make(&sparse, 0, &mine)) {
		free(bitmap);
		return false;
	}
	free(mine.val);
	found = malloc(mine.rows);
	for (size_t i = 0; found != NULL && i < mine.rows; i++) {
		found[i] = bitmap[index_of(shape, mine.ind, i) / 64] >> index_of(shape, mine.ind, i) % 64 & 1;
		work->items_out += found[i];
	}
	work->items = mine.rows;
	work->moved_bytes = mine.rows * (uint64_t)(shape->ind_bytes + 1) + words * 8;
	if (kernel_add_input(work, mine.ind, mine.rows * shape->ind_bytes, shape->ind_bytes)) {
		if (kernel_add_input(work, bitmap, words * 8, 8))
			return kernel_add_output(work, found, mine.rows, 1);
	} else {
		free(bitmap);
	}
	free(found);
	return false;
}

static choir_status run_intersect(struct kernel_work *work)
{
	uint64_t words = (work->shape->sparse.range + 63) / 64;
	struct dense_list list = list_of(work);
	struct dense_bitmap bitmap = { .mem = kernel_mem(work, BITMAP), .words = 2 * words };

	if (work->device == NULL) {
		dense_contains(kernel_host(work, IND), form_of(work), work->items, 0, kernel_host(work, BITMAP), words,
		               kernel_host(work, FOUND));
		return CHOIR_SUCCESS;
	}
	TRY(dense_kernel_contains(work->device, &list, &bitmap, kernel_mem(work, FOUND), NULL));
	return kernel_finish(work->device);
}

const struct kernel kernel_scatter = {
	.name = "scatter",
	.about = "rows of distinct indices into a tensor",
	.unit = "pairs",
	.unfit = unfit,
	.open = open_scatter,
	.run = run_scatter,
};
const struct kernel kernel_gather = {
	.name = "gather",
	.about = "rows of distinct indices out of a tensor",
	.unit = "pairs",
	.unfit = unfit,
	.open = open_gather,
	.run = run_gather,
};
const struct kernel kernel_intersect = {
	.name = "intersect",
	.about = "which indices are in a bitmap",
	.unit = "pairs",
	.unfit = unfit,
	.open = open_intersect,
	.run = run_intersect,
};
