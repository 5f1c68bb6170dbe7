/* SPDX-License-Identifier: MIT */
#include "sparse.h"

#include "cases.h"
#include "measure.h"
#include "report.h"
#include "sparse_job.h"
#include "symmetric.h"
#include "watchdog.h"

#include <stdio.h>
#include <string.h>

/* Collective: on a rank without memory nothing is left behind anywhere. */
static struct contender *agree(struct run *run, struct contender *contender)
{
	if (world_max_int(run->world, contender == NULL) == 0)
		return contender;
	if (contender != NULL)
		contender->close(contender);
	return NULL;
}

static void no_memory(struct run *run)
{
	if (run->world->rank == 0)
		fprintf(stderr, "choir-bench: no memory for the sparse rows\n");
	world_fail(run->world, EXIT_WRONG);
}

static void describe(const struct sparse_job *sparse, struct result *row)
{
	const struct args_sparse *args = &sparse->shape.args;
	double range = (double)args->range;

	row->kind = RESULT_SPARSE;
	row->sparse = (struct result_sparse){ .index = choir_dtype_name(args->index_dtype), .distribution = args->zipf > 0 ? "zipf" : "uniform",
					      .rows_in = sparse->mine.rows, .rows_out = sparse->expected.rows, .width = args->width,
					      .range = args->range, .density_in = (double)sparse->mine.rows / range,
					      .density_out = (double)sparse->expected.rows / range };
}

static void run_contenders(struct run *run, const struct sparse_job *sparse, struct result *row)
{
	struct run_field field = { .ours = { agree(run, sparse_ours_open(sparse)) }, .n_ours = 1 };
	const char *why_not[VS_MAX];
	const struct args_sparse *args = &sparse->shape.args;
	choir_sparse_stats stats;
	double wire;

	if (field.ours[0] == NULL)
		no_memory(run);
	for (int i = 0; i < run->args->n_vs; i++)
		field.vs[i] = agree(run, sparse_vs_open(sparse, run->args->vs[i], &why_not[i]));
	run_note_vs(run, why_not, field.vs);
	/* As if the whole range had been reduced: what a dense allreduce would have to move. */
	run_measure(run, sparse->job, &field, args->range * sparse->row_bytes, case_bus_factor(sparse->job->what, sparse->job->n), row);
	snprintf(row->algorithm, sizeof row->algorithm, "%s", sparse_ours_algorithm(field.ours[0]));
	stats = *sparse_ours_stats(field.ours[0]);
	wire = (double)stats.wire_bytes;
	world_max(run->world, &wire, 1);
	row->wire_bytes = (uint64_t)wire;
	if (run->to_text && !run->args->csv)
		report_text_note("%s: %.0f us predicted, imbalance %.3f, %llu pairs merged", stats.algorithm, stats.predicted_us, stats.imbalance,
				 (unsigned long long)stats.pairs_merged);
	run_close(run, &field);
}

static void sparse_row(struct run *run, choir_dtype dtype, choir_op op)
{
	const struct args *args = run->args;
	struct job job = { .args = args, .what = case_find("allreduce"), .world = run->world, .device = run->device, .comm = run->comm,
			   .memory = symmetric_source(run),
			   .rank = run->world->rank, .n = run->world->size, .dtype = dtype, .op = op,
			   .elem_bytes = choir_dtype_bytes(dtype) };
	struct sparse_job sparse = { .job = &job, .shape = { args->sparse, dtype, op, job.n },
				     .ind_bytes = choir_dtype_bytes(args->sparse.index_dtype), .row_bytes = args->sparse.width * job.elem_bytes };
	struct result row = { .collective = "sparse_allreduce", .dtype = choir_dtype_name(dtype), .op = choir_op_name(op),
			      .memory = args_memory_names[args->memory], .in_flight = 1 };

	watchdog_pat("making sparse data");
	if (world_max_int(run->world, !sparse_data_make(&sparse.shape, job.rank, &sparse.mine) ||
					      !sparse_data_expect(&sparse.shape, &sparse.expected)) == 1)
		no_memory(run);
	job.count = sparse.mine.rows * args->sparse.width;
	job.bytes = sparse.mine.rows * (sparse.ind_bytes + sparse.row_bytes);
	row.bytes = job.bytes;
	row.count = job.count;
	describe(&sparse, &row);
	run_contenders(run, &sparse, &row);
	sparse_data_fini(&sparse.mine);
	sparse_data_fini(&sparse.expected);
	run_report(run, &row);
}

/* Whether the bench can check and the library can do (dtype, op). */
static bool is_supported(struct run *run, choir_dtype dtype, choir_op op)
{
	const char *why_not = sparse_data_why_not(dtype, op);
	bool by_name = !(run->args->all_ops || run->args->all_dtypes);

	if (why_not == NULL && choir_supports(run->comm, "sparse_allreduce", dtype, op, choir_none()) != CHOIR_SUCCESS)
		why_not = choir_last_error();
	if (why_not != NULL && by_name && run->world->rank == 0)
		fprintf(stderr, "choir-bench: sparse_allreduce: %s\n", why_not);
	return why_not == NULL;
}

void sparse_run(struct run *run)
{
	const struct args *args = run->args;

	if (run->to_text && !args->csv) {
		report_text_columns(args, "sparse_allreduce", RESULT_SPARSE);
		report_text_note("%s indices %s below %zu, rows of %zu", args->sparse.zipf > 0 ? "zipf" : "uniform",
				 choir_dtype_name(args->sparse.index_dtype), args->sparse.range, args->sparse.width);
	}
	for (int t = 0; t < args->n_dtypes; t++)
		for (int o = 0; o < args->n_ops; o++)
			if (is_supported(run, args->dtypes[t], args->ops[o]))
				sparse_row(run, args->dtypes[t], args->ops[o]);
}
