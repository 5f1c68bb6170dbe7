/* SPDX-License-Identifier: MIT */
#include "topk.h"

#include "bench/ranks/watchdog.h"
#include "bench/ranks/world.h"
#include "bench/report/report.h"
#include "topk_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const all[] = { "dense",        "topka",   "topka2",    "topk-opt",
	                           "gtopk",        "topk-sa", "gaussiank", "gaussiank-concat",
	                           "gaussiank-sa", "oktopk",  "spardl" };

static struct contender *open(struct run *run, const struct topk_job *topk, const char *algorithm)
{
	struct contender *ours = topk_ours_open(topk, algorithm);

	if (world_max_int(run->world, ours == NULL) == 1) {
		if (run->world->rank == 0 && ours != NULL)
			fprintf(stderr, "choir-bench: topk: another rank has no memory\n");
		world_fail(run->world, EXIT_WRONG);
	}
	return ours;
}

/* --algorithm: none is oktopk; names joined by commas; or all. */
static int open_all(struct run *run, const struct topk_job *topk, struct contender *ours[OURS_MAX])
{
	const char *wanted = run->args->algorithm != NULL ? run->args->algorithm : "oktopk";
	int n = 0;

	if (strcmp(wanted, "all") == 0) {
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			ours[n++] = open(run, topk, all[i]);
		return n;
	}
	while (*wanted != '\0' && n < OURS_MAX) {
		size_t length = strcspn(wanted, ",");
		char name[32];

		snprintf(name, sizeof name, "%.*s", (int)length, wanted);
		ours[n++] = open(run, topk, name);
		wanted += length + (wanted[length] == ',');
	}
	return n;
}

/* The slowest rank's times, the busiest rank's words; of k and pairs the mean of rank 0, which all have alike but for
 * thresholds. */
static void tell(struct run *run, const struct topk_job *topk, struct contender *ours, struct result *row)
{
	struct topk_means means = topk_ours_means(ours);
	double most[] = { means.select_us, means.exchange_us, means.merge_us, means.update_us,
		          means.words,     means.imbalance,   means.wire,     means.selected };

	world_max(run->world, most, sizeof most / sizeof *most);
	snprintf(row->algorithm, sizeof row->algorithm, "%s", means.algorithm);
	row->among_all = run->args->all_algorithms;
	row->wire_bytes = (uint64_t)most[6];
	row->topk = (struct result_topk){ .values = topk->job->args->sparse.values,
		                          .form = topk->job->args->sparse.result,
		                          .overlap = topk->job->args->sparse.overlap,
		                          .density_in = most[7] / (double)topk->n,
		                          .density_out = means.pairs / (double)topk->n,
		                          .density = topk->density,
		                          .select_us = most[0],
		                          .exchange_us = most[1],
		                          .merge_us = most[2],
		                          .update_us = most[3],
		                          .words = most[4],
		                          .formula = topk_formula(means.algorithm, (double)topk->n, most[7],
		                                                  means.pairs, topk->job->n),
		                          .local = means.local,
		                          .global = means.global,
		                          .imbalance = most[5] };
	run_report(run, row);
}

static void run_one(struct run *run, const struct topk_job *topk)
{
	const struct job *job = topk->job;
	struct run_field field = { .n_ours = 0 };
	const char *why_not[VS_MAX];
	struct result rows[OURS_MAX];

	field.n_ours = open_all(run, topk, field.ours);
	for (int k = 0; k < field.n_ours; k++)
		rows[k] = (struct result){ .collective = "topk",
			                   .bytes = job->bytes,
			                   .count = topk->n,
			                   .dtype = choir_dtype_name(job->dtype),
			                   .op = choir_op_name(job->op),
			                   .memory = args_memory_names[run->args->memory],
			                   .in_flight = 1,
			                   .kind = RESULT_TOPK };
	for (int i = 0; i < run->args->n_vs; i++)
		why_not[i] = "topk compares its algorithms: --compare, --algorithm";
	run_note_vs(run, why_not, field.vs);
	run_measure(run, job, &field, job->bytes, job_bus_factor(job), rows);
	for (int k = 0; k < field.n_ours; k++)
		tell(run, topk, field.ours[k], &rows[k]);
	run_close(run, &field);
}

/* false with errno; 0 if a file has no element or there is no memory. */
static bool make_grads(struct topk_job *topk)
{
	const struct job *job = topk->job;
	const struct args_sparse *what = &job->args->sparse;
	size_t n = topk->n + topk->spare;
	void *grads = topk_data_make(job->dtype, n, job->rank, what->values, what->overlap);
	bool ok = grads != NULL && memory_init(&topk->grads, &job->memory, n * job->elem_bytes) &&
	          memory_write(&topk->grads, grads);

	free(grads);
	return ok;
}

static void run_type(struct run *run, choir_dtype dtype, choir_op op)
{
	const struct args *args = run->args;
	const struct args_sparse *what = &args->sparse;
	struct job job = run_job(run, &collectives[ALLREDUCE], dtype, op);
	struct topk_job topk = { .job = &job,
		                 .n = what->range,
		                 .spare = what->range < TOPK_MOST_SPARE ? what->range : TOPK_MOST_SPARE };
	bool ok;

	job.bytes = what->range * job.elem_bytes;
	watchdog_pat("making gradients");
	errno = 0;
	ok = make_grads(&topk);
	if (!ok)
		fprintf(stderr, "choir-bench: --values %s: %s\n", what->values,
		        errno != 0 ? strerror(errno) : "no element there, or no memory");
	if (world_max_int(run->world, !ok) == 1)
		world_fail(run->world, EXIT_USAGE);
	for (int i = 0; i < args->n_rows; i++) {
		topk.density = (double)args->rows[i] / (double)topk.n;
		run_one(run, &topk);
	}
	memory_fini(&topk.grads);
}

static bool is_floating(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F32 || dtype == CHOIR_F64;
}

void topk_run(struct run *run)
{
	const struct args *args = run->args;

	if (run->to_text && !args->csv) {
		report_text_columns(args, "topk", RESULT_TOPK);
		report_text_note("%s values, %zu elements, overlap %g %%, result: %s; times of the parts in us; words: "
		                 "the busiest rank's; formula: what docs/topk.md says of k selected",
		                 args->sparse.values, args->sparse.range, 100 * args->sparse.overlap,
		                 args->sparse.result);
	}
	for (int t = 0; t < args->n_dtypes; t++) {
		for (int o = 0; o < args->n_ops && is_floating(args->dtypes[t]); o++)
			run_type(run, args->dtypes[t], args->ops[o]);
		if (is_floating(args->dtypes[t]))
			continue;
		if (!args->all_dtypes && run->world->rank == 0)
			fprintf(stderr, "choir-bench: topk: %s is none of f16, bf16, f32, f64\n",
			        choir_dtype_name(args->dtypes[t]));
	}
}
