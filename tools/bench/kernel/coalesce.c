/* SPDX-License-Identifier: MIT */
/* coalesce: pairs as they are drawn, in no order and with duplicates.  merge: one coalesced list a source. */
#include "kernel.h"

#include "kern/reduce.h"
#include "sparse/coalesce_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs are ind, val, ind, val ...; the two outputs follow. */
struct lists {
	struct coalesce_source src[ARGS_MAX_LIST];
	uint32_t n;
	bool raw;
	size_t count; /* of the last run */
};

static const struct coalesce_way *const ways[] = { &coalesce_way_buckets, &coalesce_way_bitmap, &coalesce_way_sort };
static const struct coalesce_route *const routes[] = { &coalesce_route_merge, &coalesce_route_cells,
	                                               &coalesce_route_sort };

/* way_find, route_find: of the host, of a device; NULL if it has none of that name. */
static const struct coalesce_way *way_find(const char *name)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ways[i]->name, name) == 0)
			return ways[i];
	return NULL;
}

static const struct coalesce_route *route_find(const char *name)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		if (strcmp(routes[i]->name, name) == 0)
			return routes[i];
	return NULL;
}

static const char *unfit(const struct kernel_shape *shape, choir_device *device)
{
	const char *route = shape->args->algorithm;

	if (sparse_data_why_not(shape->dtype, shape->op) != NULL)
		return sparse_data_why_not(shape->dtype, shape->op);
	if (shape->sparse.rows == 0)
		return "there is nothing to do for no pairs";
	if (device != NULL && reduce_kernel_supported(device, shape->dtype, shape->op) != CHOIR_SUCCESS)
		return choir_last_error();
	if (route != NULL && device == NULL && way_find(route) == NULL)
		return "--algorithm is buckets, bitmap or sort on the host";
	return route != NULL && device != NULL && route_find(route) == NULL
	           ? "--algorithm is merge, cells or sort on a device"
	           : NULL;
}

static bool add_list(struct kernel_work *work, struct sparse_rows *rows)
{
	const struct kernel_shape *shape = work->shape;
	struct lists *lists = work->state;
	struct coalesce_source *src = &lists->src[lists->n++];
	int at = work->n_buffers;

	src->pairs = (struct pairs){ .count = rows->rows, .form = { .bytes = (uint32_t)shape->ind_bytes } };
	work->items += rows->rows;
	if (!kernel_add_input(work, rows->ind, rows->rows * shape->ind_bytes, shape->ind_bytes) ||
	    !kernel_add_input(work, rows->val, rows->rows * shape->row_bytes, shape->row_bytes))
		return false;
	src->ind_mem = kernel_mem(work, at);
	src->val_mem = kernel_mem(work, at + 1);
	src->pairs.ind = kernel_host(work, at);
	src->pairs.rows = kernel_host(work, at + 1);
	return true;
}

static bool add_result(struct kernel_work *work, struct sparse_rows *rows)
{
	const struct kernel_shape *shape = work->shape;

	work->items_out = rows->rows;
	work->moved_bytes = (work->items + work->items_out) * (uint64_t)(shape->ind_bytes + shape->row_bytes);
	return kernel_add_output(work, rows->ind, rows->rows * shape->ind_bytes, shape->ind_bytes) &&
	       kernel_add_output(work, rows->val, rows->rows * shape->row_bytes, shape->row_bytes);
}

static bool open_lists(struct kernel_work *work, int n, bool raw)
{
	struct sparse_shape shape = kernel_sparse(work->shape, n);
	struct lists *lists = work->state = calloc(1, sizeof *lists);
	struct sparse_rows rows;

	if (lists == NULL)
		return false;
	lists->raw = raw;
	for (int r = 0; r < n; r++)
		if (!(raw ? sparse_data_make : sparse_data_list)(&shape, r, &rows) || !add_list(work, &rows))
			return false;
	return sparse_data_expect(&shape, &rows) && add_result(work, &rows);
}

static bool open_coalesce(struct kernel_work *work)
{
	return open_lists(work, 1, true);
}

static bool open_merge(struct kernel_work *work)
{
	return open_lists(work, (int)work->shape->sparse.lists, false);
}

static choir_status count_all(struct kernel_work *work, struct coalesce *job)
{
	bool done = false;

	TRY(coalesce_count(job, &done));
	while (!done) {
		TRY(kernel_finish(work->device));
		TRY(coalesce_count(job, &done));
	}
	return CHOIR_SUCCESS;
}

static choir_status fill(struct kernel_work *work, struct coalesce *job, bool *done_p)
{
	struct index_form form = { .bytes = (uint32_t)work->shape->ind_bytes };
	int ind = work->n_buffers - 2, rows = work->n_buffers - 1;

	if (work->device == NULL)
		return coalesce_fill(job, kernel_host(work, ind), form, kernel_host(work, rows), done_p);
	return coalesce_fill_mems(job, (struct dev_bytes){ .mem = kernel_mem(work, ind) }, form,
	                          (struct dev_bytes){ .mem = kernel_mem(work, rows) }, done_p);
}

static choir_status fill_all(struct kernel_work *work, struct coalesce *job)
{
	bool done = false;

	TRY(fill(work, job, &done));
	while (!done) {
		TRY(kernel_finish(work->device));
		TRY(fill(work, job, &done));
	}
	return CHOIR_SUCCESS;
}

/* Too many or too few would not fit the buffers: that is counted as wrong instead. */
static choir_status run_job(struct kernel_work *work, struct coalesce *job)
{
	TRY(count_all(work, job));
	((struct lists *)work->state)->count = job->count;
	return job->count == work->items_out ? fill_all(work, job) : CHOIR_SUCCESS;
}

static choir_status take_way(struct kernel_work *work, struct coalesce *job, const char *name)
{
	if (name != NULL && !way_find(name)->fits(&job->call, job->pairs))
		return error_set(CHOIR_UNSUPPORTED, "the way %s is not for such pairs", name);
	if (name != NULL)
		job->way = way_find(name);
	snprintf(work->algorithm, sizeof work->algorithm, "host %s", job->way->name);
	return CHOIR_SUCCESS;
}

/* --algorithm, or what the library takes; told in the row. */
static choir_status take_route(struct kernel_work *work, struct coalesce *job)
{
	const char *name = work->shape->args->algorithm;

	if (work->device == NULL)
		return take_way(work, job, name);
	if (name != NULL && !route_find(name)->fits(work->device, &job->call, job->pairs))
		return error_set(CHOIR_UNSUPPORTED, "the route %s is not for such pairs", name);
	if (name != NULL)
		job->on_device->route = route_find(name);
	snprintf(work->algorithm, sizeof work->algorithm, "kernel %s", job->on_device->route->name);
	return CHOIR_SUCCESS;
}

static choir_status run(struct kernel_work *work)
{
	const struct kernel_shape *shape = work->shape;
	struct lists *lists = work->state;
	struct coalesce_call call = { .dtype = shape->dtype,
		                      .op = shape->op,
		                      .width = shape->sparse.width,
		                      .raw = lists->raw,
		                      .final = true,
		                      .n_ranks = (int)lists->n,
		                      .form = { .bytes = (uint32_t)shape->ind_bytes },
		                      .range = { .lo = 0, .hi = (int64_t)shape->sparse.range - 1 },
		                      .src = lists->src,
		                      .n_src = lists->n };
	struct coalesce job;
	choir_status st;

	TRY(coalesce_init(&job, &call, work->device));
	st = take_route(work, &job);
	if (st == CHOIR_SUCCESS)
		st = run_job(work, &job);
	coalesce_fini(&job);
	return st;
}

static uint64_t wrong(struct kernel_work *work)
{
	return ((struct lists *)work->state)->count != work->items_out;
}

const struct kernel kernel_coalesce = {
	.name = "coalesce",
	.about = "unsorted pairs with duplicates to ascending distinct ones",
	.unit = "pairs",
	.reduces = true,
	.unfit = unfit,
	.open = open_coalesce,
	.run = run,
	.wrong = wrong,
};
const struct kernel kernel_merge = {
	.name = "merge",
	.about = "--lists coalesced lists to one",
	.unit = "pairs",
	.reduces = true,
	.unfit = unfit,
	.open = open_merge,
	.run = run,
	.wrong = wrong,
};
