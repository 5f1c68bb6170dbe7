/* SPDX-License-Identifier: MIT */
/* select: all of --range elements whose magnitude is at least that of the --rows-th largest.  topk: exactly the --rows
 * largest. */
#include "kernel.h"

#include "sparse/select.h"
#include "sparse/select_kernel.h"

#include <stdlib.h>

enum { VAL, OUT_IND, OUT_VAL };

struct selection {
	struct select_limit limit; /* of select */
	uint64_t k;                /* of topk */
	uint64_t count;            /* of the last run */
};

static const char *unfit(const struct kernel_shape *shape, choir_device *device)
{
	(void)device;
	if (sparse_data_why_not(shape->dtype, CHOIR_OP_SUM) != NULL)
		return "floating-point types only";
	if (shape->sparse.rows == 0 || shape->sparse.rows > shape->sparse.range)
		return "--rows must be 1 to --range";
	return NULL;
}

/* What must come out: everything above key, and as many of those equal to it as there is room for. */
static bool expect(struct kernel_work *work, const void *val, uint64_t key, size_t count)
{
	const struct kernel_shape *shape = work->shape;
	size_t elem = shape->elem_bytes, above = 0, to = 0;
	char *ind = malloc(count * shape->ind_bytes), *out = malloc(count * elem);

	for (size_t i = 0; i < shape->sparse.range; i++)
		above += select_data_key(elem, val, i) > key;
	for (size_t i = 0, ties = count - above; ind != NULL && out != NULL && i < shape->sparse.range; i++) {
		uint64_t mine = select_data_key(elem, val, i);

		if (mine < key || (mine == key && ties == 0))
			continue;
		ties -= mine == key;
		index_convert(ind + to * shape->ind_bytes, (struct index_form){ .bytes = (uint32_t)shape->ind_bytes },
		              &(int64_t){ (int64_t)i }, (struct index_form){ .bytes = 8 }, 1);
		memcpy(out + to++ * elem, (const char *)val + i * elem, elem);
	}
	work->items = shape->sparse.range;
	work->items_out = count;
	work->moved_bytes = shape->sparse.range * elem + count * (shape->ind_bytes + elem);
	if (!kernel_add_output(work, ind, count * shape->ind_bytes, shape->ind_bytes)) {
		free(out);
		return false;
	}
	return kernel_add_output(work, out, count * elem, elem);
}

static bool open_either(struct kernel_work *work, bool all_ties)
{
	const struct kernel_shape *shape = work->shape;
	size_t n = shape->sparse.range, elem = shape->elem_bytes, count = shape->sparse.rows;
	struct selection *selection = work->state = calloc(1, sizeof *selection);
	void *val = selection != NULL ? select_data_make(shape->dtype, n, shape->sparse.heavy_tailed) : NULL;
	uint64_t key;

	if (!kernel_add_input(work, val, n * elem, elem) || !select_data_kth(elem, val, n, shape->sparse.rows, &key))
		return false;
	selection->limit = (struct select_limit){ .key = key, .ties = UINT64_MAX };
	selection->k = shape->sparse.rows;
	if (all_ties) {
		count = 0;
		for (size_t i = 0; i < n; i++)
			count += select_data_key(elem, val, i) >= key;
	}
	return expect(work, val, key, count);
}

static bool open_select(struct kernel_work *work)
{
	return open_either(work, true);
}

static bool open_topk(struct kernel_work *work)
{
	return open_either(work, false);
}

static struct select_input input_of(const struct kernel_work *work)
{
	return (struct select_input){ .val = kernel_host(work, VAL),
		                      .elem_bytes = (uint32_t)work->shape->elem_bytes,
		                      .n = work->items };
}

static struct select_output output_of(const struct kernel_work *work)
{
	return (struct select_output){ .ind = kernel_host(work, OUT_IND),
		                       .form = { .bytes = (uint32_t)work->shape->ind_bytes },
		                       .val = kernel_host(work, OUT_VAL),
		                       .capacity = work->items_out };
}

/* Until it is done; the job is gone then. */
static choir_status await(struct kernel_work *work, struct select_job *job)
{
	struct selection *selection = work->state;
	struct select_limit limit;
	bool done = false;
	choir_status st = select_job_poll(job, &selection->count, &limit, &done);

	while (st == CHOIR_SUCCESS && !done) {
		st = kernel_finish(work->device);
		if (st == CHOIR_SUCCESS)
			st = select_job_poll(job, &selection->count, &limit, &done);
	}
	select_job_destroy(job);
	return st;
}

static struct select_source source_of(const struct kernel_work *work)
{
	return (struct select_source){ .mem = kernel_mem(work, VAL),
		                       .elem_bytes = (uint32_t)work->shape->elem_bytes,
		                       .n = work->items };
}

static struct select_target target_of(const struct kernel_work *work)
{
	return (struct select_target){ .ind = kernel_mem(work, OUT_IND),
		                       .val = kernel_mem(work, OUT_VAL),
		                       .ind_bytes = (uint32_t)work->shape->ind_bytes,
		                       .capacity = work->items_out };
}

static choir_status run_select(struct kernel_work *work)
{
	struct selection *selection = work->state;
	struct select_input in = input_of(work);
	struct select_output out = output_of(work);
	struct select_source from = source_of(work);
	struct select_target to = target_of(work);
	struct select_job *job;

	if (work->device == NULL) {
		selection->count = select_host(&in, selection->limit, &out);
		return CHOIR_SUCCESS;
	}
	TRY(select_job_limit(work->device, &from, selection->limit, &to, &job));
	return await(work, job);
}

static choir_status run_topk(struct kernel_work *work)
{
	struct selection *selection = work->state;
	struct select_input in = input_of(work);
	struct select_output out = output_of(work);
	struct select_source from = source_of(work);
	struct select_target to = target_of(work);
	struct select_limit limit;
	struct select_job *job;

	selection->count = selection->k;
	if (work->device == NULL)
		return select_top(&in, selection->k, &out, &limit);
	TRY(select_job_top(work->device, &from, selection->k, &to, &job));
	return await(work, job);
}

static uint64_t wrong(struct kernel_work *work)
{
	return ((struct selection *)work->state)->count != work->items_out;
}

const struct kernel kernel_select = {
	.name = "select",
	.about = "elements of at least some magnitude, as pairs",
	.unit = "elements",
	.unfit = unfit,
	.open = open_select,
	.run = run_select,
	.wrong = wrong,
};
const struct kernel kernel_topk = {
	.name = "topk",
	.about = "the largest elements by magnitude, as pairs",
	.unit = "elements",
	.unfit = unfit,
	.open = open_topk,
	.run = run_topk,
	.wrong = wrong,
};
