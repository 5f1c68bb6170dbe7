/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "bench/report/report.h"
#include "bench/ranks/watchdog.h"
#include "bench/ranks/world.h"
#include "kernel.h"
#include "lib/values.h"

#include <stdio.h>
#include <string.h>

static const struct kernel *const kernels[] = {
	&kernel_coalesce,    &kernel_merge,         &kernel_select, &kernel_topk,
	&kernel_mean_std,    &kernel_scatter,       &kernel_gather, &kernel_intersect,
	&kernel_bitmap_pack, &kernel_bitmap_unpack, &kernel_reduce,
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

/* "bitmap" means both of its kernels, "all" all of them. */
static bool is_meant(const char *word, const struct kernel *kernel)
{
	size_t length = strlen(word);

	return strcmp(word, "all") == 0 || strcmp(word, kernel->name) == 0 ||
	       (strncmp(word, kernel->name, length) == 0 && kernel->name[length] == '_');
}

static bool exists(const char *word)
{
	for (int i = 0; i < N_KERNELS; i++)
		if (is_meant(word, kernels[i]))
			return true;
	return false;
}

bool rows_names_exist(const struct args *args, bool says)
{
	const char *unknown = args->n_collectives < 2 ? "" : NULL;

	for (int i = 1; i < args->n_collectives && unknown == NULL; i++)
		if (!exists(args->collectives[i]))
			unknown = args->collectives[i];
	if (unknown == NULL || !says)
		return unknown == NULL;
	fprintf(stderr, "choir-bench: there is no kernel '%s'; there are:", unknown);
	for (int i = 0; i < N_KERNELS; i++)
		fprintf(stderr, " %s", kernels[i]->name);
	fputs(" and all\n", stderr);
	return false;
}

static void no_memory(struct run *run)
{
	if (run->world->rank == 0)
		fputs("choir-bench: no memory for the kernel's data\n", stderr);
	world_fail(run->world, EXIT_WRONG);
}

static void describe(const struct kernel_work *work, struct result *row)
{
	const struct kernel_shape *shape = work->shape;

	row->bytes = work->moved_bytes;
	row->count = work->items;
	row->kernel = (struct result_kernel){ .index = choir_dtype_name(shape->sparse.index_dtype),
		                              .distribution = args_ids_names[shape->sparse.ids],
		                              .unit = work->kernel->unit,
		                              .items = work->items,
		                              .items_out = work->items_out,
		                              .range = shape->sparse.range,
		                              .width = shape->sparse.width,
		                              .lists = shape->sparse.lists,
		                              .moved_bytes = work->moved_bytes };
}

static bool is_builtin(const char *way)
{
	return strcmp(way, "builtin") == 0;
}

/* --vs builtin: the same by the library's own sum. */
static struct contender *open_builtin(const struct kernel *kernel, const struct kernel_shape *shape,
                                      choir_device *device)
{
	struct kernel_work *work = kernel_open(kernel, shape, device);

	if (work != NULL)
		work->base.name = "builtin";
	return work != NULL ? &work->base : NULL;
}

static const char *builtin_unfit(const struct args *args, const struct kernel *kernel, choir_op op)
{
	for (int i = 0; i < args->n_vs; i++)
		if (is_builtin(args->vs[i]) && (!kernel->reduces || values_op(op) == op))
			return "--vs builtin needs an operator of a user's";
	return NULL;
}

static void measure_row(struct run *run, const struct kernel *kernel, const struct kernel_shape *shape)
{
	choir_device *device = run->args->memory == MEMORY_DEVICE ? run->device : NULL;
	struct job job = { .args = run->args, .world = run->world, .n = run->world->size };
	struct result row = { .collective = kernel->name,
		              .dtype = choir_dtype_name(shape->dtype),
		              .op = kernel->reduces ? choir_op_name(shape->op) : "none",
		              .memory = args_memory_names[run->args->memory],
		              .in_flight = 1,
		              .kind = RESULT_KERNEL };
	struct run_field field = { .n_ours = 1 };
	struct kernel_shape builtin = *shape;
	struct kernel_work *work;

	watchdog_pat("making a kernel's data");
	work = kernel_open(kernel, shape, device);
	if (world_max_int(run->world, work == NULL) == 1)
		no_memory(run);
	field.ours[0] = &work->base;
	builtin.op = values_op(shape->op);
	for (int i = 0; i < run->args->n_vs; i++) {
		if (is_builtin(run->args->vs[i]))
			field.vs[i] = open_builtin(kernel, &builtin, device);
		else
			field.vs[i] = copy_open(work->moved_bytes, &work->source, device);
		if (world_max_int(run->world, field.vs[i] == NULL) == 1)
			no_memory(run);
		if (field.vs[i]->n_manners > 1)
			contender_take_fastest(run->world, field.vs[i]);
	}
	if (work->base.n_manners > 1)
		contender_take_fastest(run->world, &work->base);
	describe(work, &row);
	job.bytes = work->moved_bytes;
	run_measure(run, &job, &field, work->moved_bytes, 1, &row);
	snprintf(row.algorithm, sizeof row.algorithm, "%s", work->algorithm);
	row.kernel.items_per_s = row.us.p50 > 0 ? (double)work->items / row.us.p50 * 1e6 : 0;
	run_report(run, &row);
	run_close(run, &field);
}

static void try_row(struct run *run, const struct kernel *kernel, const struct kernel_shape *shape)
{
	choir_device *device = run->args->memory == MEMORY_DEVICE ? run->device : NULL;
	const char *why_not = kernel->unfit(shape, device);

	if (why_not == NULL)
		why_not = builtin_unfit(run->args, kernel, shape->op);
	if (why_not == NULL)
		measure_row(run, kernel, shape);
	else if (run->world->rank == 0 && !run->args->all_ops && !run->args->all_dtypes)
		fprintf(stderr, "choir-bench: kernel %s: %s\n", kernel->name, why_not);
}

static void run_kernel(struct run *run, const struct kernel *kernel, struct kernel_shape *shape)
{
	const struct args *args = run->args;

	if (run->to_text && !args->csv) {
		report_text_columns(args, kernel->name, RESULT_KERNEL);
		report_text_note("%s; bytes: that must move; ratio: %s", kernel->about,
		                 is_builtin(args->vs[0]) ? "to the library's own sum" : "the share of the copy rate");
	}
	for (int t = 0; t < args->n_dtypes; t++)
		for (int o = 0; o < (kernel->reduces ? args->n_ops : 1); o++)
			for (int i = 0; i < (kernel->no_pairs ? 1 : args->n_rows); i++) {
				shape->dtype = args->dtypes[t];
				shape->op = kernel->reduces ? args->ops[o] : CHOIR_OP_SUM;
				shape->sparse.rows = args->rows[i];
				shape->elem_bytes = choir_dtype_bytes(shape->dtype);
				shape->ind_bytes = choir_dtype_bytes(shape->sparse.index_dtype);
				shape->row_bytes = shape->sparse.width * shape->elem_bytes;
				try_row(run, kernel, shape);
			}
}

int rows_run(struct run *run)
{
	const struct args *args = run->args;
	struct sparse_text text = { 0 };
	struct kernel_shape shape = { .args = args, .sparse = args->sparse, .text = &text };
	uint64_t wrong;

	if (shape.sparse.ids == IDS_TEXT)
		run_read_text(run, &shape.sparse, &text);
	for (int k = 0; k < N_KERNELS; k++)
		for (int i = 1; i < args->n_collectives; i++)
			if (is_meant(args->collectives[i], kernels[k])) {
				run_kernel(run, kernels[k], &shape);
				break;
			}
	sparse_text_fini(&text);
	if (run->results.n == 0)
		return EXIT_USAGE;
	wrong = run->faults;
	for (size_t i = 0; i < run->results.n; i++)
		wrong += run->results.rows[i].wrong;
	return wrong == 0 ? EXIT_FINE : EXIT_WRONG;
}
