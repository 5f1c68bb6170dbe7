/* SPDX-License-Identifier: MIT */
/* reduce: --lists sources of --range elements to one destination. */
#include "kernel.h"

#include "lib/values.h"
#include "kern/user_op.h"

#include <stdlib.h>

enum { PLAIN, STREAMING, N_MANNERS };

static const char *unfit(const struct kernel_shape *shape, choir_device *device)
{
	const struct user_op *user = user_op_held(shape->op);

	if (device == NULL && user != NULL && user->config.fold == NULL)
		return "the operator has no function, which the host needs";
	if (reduce_supported(shape->dtype, shape->op) != CHOIR_SUCCESS ||
	    (device != NULL && reduce_kernel_supported(device, shape->dtype, shape->op) != CHOIR_SUCCESS))
		return choir_last_error();
	return NULL;
}

/* Elements of rank's source, of all of them reduced for rank -1. */
static void *make(const struct values *values, int rank, size_t n, size_t elem)
{
	char *data = malloc(n * elem);
	int32_t block[VALUES_BLOCK];

	for (size_t at = 0, some; data != NULL && at < n; at += some) {
		some = n - at < VALUES_BLOCK ? n - at : VALUES_BLOCK;
		if (rank >= 0)
			values_of(values, rank, at, some, block);
		else
			values_reduced(values, values->n_ranks, 0, at, some, block);
		values_encode(values->dtype, block, some, data + at * elem);
	}
	return data;
}

static bool open(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	struct values values = {
		.dtype = shape->dtype, .op = values_op(shape->op), .seed = 1, .n_ranks = (int)shape->sparse.lists
	};
	size_t n = shape->sparse.range, elem = shape->elem_bytes;

	for (int r = 0; r < values.n_ranks; r++)
		if (!kernel_add_input(work, make(&values, r, n, elem), n * elem, elem))
			return false;
	work->items = n * shape->sparse.lists;
	work->items_out = n;
	work->moved_bytes = (shape->sparse.lists + 1) * n * elem;
	return kernel_add_output(work, make(&values, -1, n, elem), n * elem, elem);
}

static choir_status run(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	uint32_t n = (uint32_t)shape->sparse.lists;
	struct reduce_call call = { .dtype = shape->dtype,
		                    .op = shape->op,
		                    .n_src = n,
		                    .final = true,
		                    .n_ranks = (int)n,
		                    .factor = values_factor(shape->op),
		                    .n_dst = 1,
		                    .nt_from = work->manner == STREAMING ? 0 : 1,
		                    .count = shape->sparse.range,
		                    .user = user_op_held(shape->op) };
	struct reduce_operand src[ARGS_MAX_LIST], dst = { .mem = kernel_mem(work, (int)n) };
	const void *from[ARGS_MAX_LIST];
	void *to = kernel_host(work, (int)n);

	for (int i = 0; i < (int)n; i++) {
		src[i] = (struct reduce_operand){ .mem = kernel_mem(work, i) };
		from[i] = kernel_host(work, i);
	}
	if (work->device == NULL) {
		if (call.user != NULL)
			user_op_reduce(&call, false, &to, from);
		else
			reduce_host(&call, &to, from);
		return CHOIR_SUCCESS;
	}
	TRY(reduce_kernel_start(work->device, &call, dst, src, NULL));
	return kernel_finish(work->device);
}

const struct kernel kernel_reduce = {
	.name = "reduce",
	.about = "--lists arrays to one by an operator",
	.unit = "elements",
	.reduces = true,
	.no_pairs = true,
	.host_manners = N_MANNERS,
	.unfit = unfit,
	.open = open,
	.run = run,
};
