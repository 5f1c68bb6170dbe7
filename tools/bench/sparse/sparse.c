/* SPDX-License-Identifier: MIT */
#include "sparse.h"

#include "bench/cases/algorithms.h"
#include "bench/cases/job.h"
#include "bench/run/measure.h"
#include "bench/report/report.h"
#include "sparse_job.h"
#include "bench/report/sweep.h"
#include "bench/ranks/watchdog.h"

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

static struct contender *open_ours(struct run *run, const struct sparse_job *sparse, const char *algorithm)
{
	struct contender *ours = agree(run, sparse_ours_open(sparse, algorithm));

	if (ours == NULL)
		no_memory(run);
	return ours;
}

/* Those of the algorithms that can do the job; chosen: which of them the model takes, at a second call, which knows how
 * many indices come out. */
static int open_all(struct run *run, const struct sparse_job *sparse, struct contender *ours[OURS_MAX],
                    char chosen[ALGORITHMS_NAME_BYTES])
{
	const struct collective_row what = { .name = "sparse_allreduce" };
	struct contender *model = open_ours(run, sparse, NULL);
	struct algorithms all;
	bool fits = algorithms_of(run->comm, &what, run->args->algorithm, &all);
	int n = 0;

	for (int call = 0; call < 2; call++) /* the second knows how many indices come out */
		fits = fits && sparse_ours_fits(model);
	if (!fits)
		world_fail(run->world, EXIT_WRONG);
	snprintf(chosen, ALGORITHMS_NAME_BYTES, "%s", sparse_ours_algorithm(model));
	for (int i = 0; i < all.n && n < OURS_MAX; i++) {
		ours[n] = open_ours(run, sparse, all.name[i]);
		if (sparse_ours_fits(ours[n]))
			n++;
		else
			ours[n]->close(ours[n]);
	}
	if (n == 0) {
		ours[0] = model;
		return 1;
	}
	model->close(model);
	return n;
}

static void open_field(struct run *run, const struct sparse_job *sparse, struct run_field *field,
                       char chosen[ALGORITHMS_NAME_BYTES])
{
	const char *why_not[VS_MAX];

	field->n_ours = 1;
	if (run->args->all_algorithms)
		field->n_ours = open_all(run, sparse, field->ours, chosen);
	else
		field->ours[0] = open_ours(run, sparse, run->args->algorithm);
	for (int i = 0; i < run->args->n_vs; i++)
		field->vs[i] = agree(run, sparse_vs_open(sparse, run->args->vs[i], &why_not[i]));
	run_note_vs(run, why_not, field->vs);
}

static void tell(struct run *run, const struct contender *ours, const char *chosen, struct result *row)
{
	const choir_sparse_stats *stats = sparse_ours_stats(ours);
	double largest[2] = { (double)stats->wire_bytes, stats->imbalance };

	world_max(run->world, largest, 2);
	snprintf(row->algorithm, sizeof row->algorithm, "%s", stats->algorithm);
	row->among_all = run->args->all_algorithms;
	row->chosen = row->among_all && strcmp(row->algorithm, chosen) == 0;
	row->wire_bytes = (uint64_t)largest[0];
	row->sparse.imbalance = largest[1];
	row->sparse.predicted_us = stats->predicted_us;
	row->sparse.rows_merged = stats->pairs_merged;
	row->sparse.link = stats->link;
	memcpy(row->sparse.terms,
	       (double[SPARSE_TERMS]){ stats->messages, stats->bytes_received, stats->bytes_copied, stats->pairs_placed,
	                               stats->bytes_folded },
	       sizeof row->sparse.terms);
	run_report(run, row);
}

/* How good the model's choice was. */
static void note_choice(struct run *run, const struct result *rows, int n)
{
	const struct result *chosen = NULL;
	double least = 0;

	for (int k = 0; k < n; k++) {
		chosen = rows[k].chosen ? &rows[k] : chosen;
		least = least == 0 || rows[k].us.p50 < least ? rows[k].us.p50 : least;
	}
	if (chosen != NULL && least > 0 && run->to_text && !run->args->csv)
		report_text_note("the choice, %s, takes %.2f times as long as the fastest", chosen->algorithm,
		                 chosen->us.p50 / least);
}

static void run_contenders(struct run *run, const struct sparse_job *sparse, const struct result *like)
{
	const struct job *job = sparse->job;
	struct run_field field = { .n_ours = 0 };
	char chosen[ALGORITHMS_NAME_BYTES] = "";
	struct result rows[OURS_MAX];

	open_field(run, sparse, &field, chosen);
	for (int k = 0; k < field.n_ours; k++)
		rows[k] = *like;
	/* As if the whole range had been reduced: what a dense allreduce would have to move. */
	run_measure(run, job, &field, sparse->shape.args.range * sparse->row_bytes, job_bus_factor(job), rows);
	for (int k = 0; k < field.n_ours; k++)
		tell(run, field.ours[k], chosen, &rows[k]);
	note_choice(run, rows, field.n_ours);
	run_close(run, &field);
}

/* The flags that bend the distribution, in words. */
static void workload_of(const struct args_sparse *args, char text[64])
{
	char overlap[24] = "";

	if (args->overlap > 0)
		snprintf(overlap, sizeof overlap, "overlap %g%% ", 100 * args->overlap);
	snprintf(text, 64, "%s%s%s%s", args->permuted ? "permuted " : "", overlap, args->hot ? "hot " : "",
	         args->empty ? "empty " : "");
	if (text[0] != '\0')
		text[strlen(text) - 1] = '\0';
}

static void sparse_row(struct run *run, const struct sparse_shape *shape)
{
	const struct args *args = run->args;
	const struct args_sparse *what = &shape->args;
	struct job job = run_job(run, &collectives[ALLREDUCE], shape->dtype, shape->op);
	struct sparse_job sparse = { .job = &job,
		                     .shape = *shape,
		                     .ind_bytes = choir_dtype_bytes(what->index_dtype),
		                     .row_bytes = what->width * job.elem_bytes,
		                     .all_rows = sparse_ids_before(what, job.n, job.n) };
	struct result row = { .collective = "sparse_allreduce",
		              .dtype = choir_dtype_name(shape->dtype),
		              .op = choir_op_name(shape->op),
		              .memory = args_memory_names[args->memory],
		              .in_flight = 1,
		              .kind = RESULT_SPARSE };

	watchdog_pat("making sparse data");
	if (world_max_int(run->world, !sparse_data_make(shape, job.rank, &sparse.mine) ||
	                                  !sparse_data_expect(shape, &sparse.expected)) == 1)
		no_memory(run);
	row.bytes = job.bytes = what->rows * (sparse.ind_bytes + sparse.row_bytes);
	row.count = what->rows * what->width;
	row.sparse = (struct result_sparse){ .index = choir_dtype_name(what->index_dtype),
		                             .distribution = args_ids_names[what->ids],
		                             .rows_in = what->rows,
		                             .rows_out = sparse.expected.rows,
		                             .width = what->width,
		                             .range = what->range,
		                             .density_in = (double)what->rows / (double)what->range,
		                             .density_out = (double)sparse.expected.rows / (double)what->range };
	workload_of(what, row.sparse.workload);
	run_contenders(run, &sparse, &row);
	sparse_data_fini(&sparse.mine);
	sparse_data_fini(&sparse.expected);
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

static void describe(struct run *run, const struct args_sparse *what)
{
	char workload[64];

	if (!run->to_text || run->args->csv)
		return;
	workload_of(what, workload);
	report_text_columns(run->args, "sparse_allreduce", RESULT_SPARSE);
	report_text_note("%s indices %s below %zu, rows of %zu %s", args_ids_names[what->ids],
	                 choir_dtype_name(what->index_dtype), what->range, what->width, workload);
}

/* Where the fastest changes, after a sweep over densities. */
static void note_crossings(struct run *run, const struct result *like)
{
	struct sweep sweep;

	if (!run->to_text || run->args->csv || !sweep_of(&run->results, like, &sweep))
		return;
	for (int i = 0; i < sweep.n_crossings; i++)
		report_text_note("%s becomes faster than %s at a density of %.3g %%",
		                 sweep.line[sweep.crossing[i].to].name, sweep.line[sweep.crossing[i].from].name,
		                 100 * sweep.crossing[i].density);
}

static void run_rows(struct run *run, struct sparse_shape *shape)
{
	for (int i = 0; i < run->args->n_rows; i++) {
		shape->args.rows = run->args->rows[i];
		sparse_row(run, shape);
	}
	note_crossings(run, &run->results.rows[run->results.n - 1]);
}

void sparse_run(struct run *run)
{
	const struct args *args = run->args;
	struct sparse_text text = { 0 };
	struct sparse_shape shape = { .args = args->sparse, .n_ranks = run->world->size, .text = &text };

	if (shape.args.ids == IDS_TEXT)
		run_read_text(run, &shape.args, &text);
	describe(run, &shape.args);
	for (int t = 0; t < args->n_dtypes; t++)
		for (int o = 0; o < args->n_ops; o++) {
			shape.dtype = args->dtypes[t];
			shape.op = args->ops[o];
			if (is_supported(run, shape.dtype, shape.op))
				run_rows(run, &shape);
		}
	sparse_text_fini(&text);
}
