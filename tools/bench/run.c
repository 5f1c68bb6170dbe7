/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "cases.h"
#include "measure.h"
#include "number.h"
#include "ours.h"
#include "report.h"
#include "sparse.h"
#include "symmetric.h"
#include "watchdog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES_BELOW = 65536 };

void run_note_vs(struct run *run, const char *const *why_not, struct contender *const *vs)
{
	for (int i = 0; i < run->args->n_vs; i++) {
		if (vs[i] != NULL || (run->notes & 1 << i) != 0)
			continue;
		run->notes |= 1 << i;
		if (run->world->rank == 0)
			fprintf(run->to_text ? stdout : stderr, "# no %s here: %s\n", run->args->vs[i], why_not[i]);
	}
}

void run_report(struct run *run, const struct result *row)
{
	results_add(&run->results, row);
	if (!run->to_text)
		return;
	if (run->args->csv)
		report_csv_row(run->args, row);
	else
		report_text_row(run->args, row);
}

static void take_times(const struct args *args, struct series *series, const struct contender *const *vs, size_t bytes, double bus_factor,
                       struct result *row)
{
	int ran = 1;

	row->us = stats_of(series[0].us, (size_t)args->iterations);
	row->first_us = series[0].first_us;
	row->wrong = series[0].wrong;
	row->checked = series[0].checked;
	row->algbw_GBps = result_rate(bytes, row->us.p50);
	row->busbw_GBps = row->algbw_GBps * bus_factor;
	row->n_vs = args->n_vs;
	for (int i = 0; i < args->n_vs; i++) {
		row->vs[i] = (struct result_vs){ .name = args->vs[i], .ran = vs[i] != NULL };
		if (vs[i] == NULL)
			continue;
		row->vs[i].p50_us = stats_of(series[ran++].us, (size_t)args->iterations).p50;
		row->vs[i].ratio = row->us.p50 > 0 ? row->vs[i].p50_us / row->us.p50 : 0;
	}
}

void run_measure(struct run *run, const struct job *job, struct contender *ours, struct contender *const *vs, size_t bytes, double bus_factor,
                 struct result *row)
{
	const struct args *args = run->args;
	char label[96], size[16];
	struct measure_plan plan = { .world = run->world, .iterations = args->iterations, .warmup = args->warmup,
				     .check_every = args->check_every, .batches = job->bytes < BATCHES_BELOW, .label = label };
	struct contender *contenders[VS_MAX + 1] = { ours };
	struct series series[VS_MAX + 1];
	int n = 1;

	snprintf(label, sizeof label, "%s %s %s %s", row->collective, row->dtype, row->op, number_print_bytes(job->bytes, size));
	for (int i = 0; i < args->n_vs; i++)
		if (vs[i] != NULL)
			contenders[n++] = vs[i];
	for (int k = 0; k < n; k++) {
		series[k] = (struct series){ .us = calloc((size_t)args->iterations, sizeof(double)) };
		if (series[k].us == NULL)
			world_fail(run->world, EXIT_WRONG);
	}
	measure(&plan, contenders, series, n);
	for (int k = 1; k < n; k++) {
		run->faults += series[k].wrong;
		if (series[k].wrong > 0 && run->world->rank == 0)
			fprintf(stderr, "choir-bench: %s: %s computed %llu wrong elements: a fault of the bench\n", label, contenders[k]->name,
				(unsigned long long)series[k].wrong);
	}
	take_times(args, series, (const struct contender *const *)vs, bytes, bus_factor, row);
	for (int k = 0; k < n; k++)
		free(series[k].us);
}

static void run_row(struct run *run, const struct job *job)
{
	const struct args *args = run->args;
	struct result row = { .collective = job->what->name, .bytes = job->bytes, .count = job->count,
			      .dtype = choir_dtype_name(job->dtype), .op = job->what->reduces ? choir_op_name(job->op) : "none",
			      .memory = args_memory_names[args->memory], .in_place = job->in_place,
			      .in_flight = args->in_flight };
	struct contender *vs[VS_MAX] = { NULL }, *ours;
	const char *why_not[VS_MAX];
	double wire;

	watchdog_pat("preparing buffers");
	ours = ours_open(job);
	if (world_max_int(run->world, ours == NULL) == 1) {
		if (run->world->rank == 0)
			fprintf(stderr, "choir-bench: no memory for %zu bytes\n", job->bytes);
		world_fail(run->world, EXIT_WRONG);
	}
	vs_open(job, vs, why_not);
	run_note_vs(run, why_not, vs);
	run_measure(run, job, ours, vs, job->bytes, case_bus_factor(job->what, job->n), &row);
	snprintf(row.algorithm, sizeof row.algorithm, "%s", ours_algorithm(ours));
	wire = (double)ours_wire_bytes(ours);
	world_max(run->world, &wire, 1);
	row.wire_bytes = (uint64_t)wire;
	ours->close(ours);
	for (int i = 0; i < args->n_vs; i++)
		if (vs[i] != NULL)
			vs[i]->close(vs[i]);
	run_report(run, &row);
}

static size_t next_size(const struct args *args, size_t size)
{
	size_t next = args->step > 0 ? size + args->step : (size_t)((double)size * args->factor);

	return next > size ? next : size + 1;
}

static void run_sizes(struct run *run, struct job *job)
{
	size_t last = 0;
	bool first = true;

	for (size_t size = run->args->begin; size <= run->args->end; size = next_size(run->args, size)) {
		job->what->shape(job, size);
		/* Sizes below one element a rank come out the same. */
		if (!first && job->bytes == last)
			continue;
		first = false;
		last = job->bytes;
		run_row(run, job);
	}
}

/* Whether (dtype, op) exists; what was asked for by name and does not is said. */
static bool is_supported(struct run *run, const struct job *job)
{
	const char *name = job->what->asks != NULL ? job->what->asks : job->what->name;
	choir_status st = choir_supports(job->comm, name, job->dtype, job->op, choir_none());
	bool by_name = !(run->args->all_ops || run->args->all_dtypes);

	if (st == CHOIR_SUCCESS)
		return true;
	if (by_name && run->world->rank == 0)
		fprintf(stderr, "choir-bench: %s: %s\n", job->what->name, choir_last_error());
	return false;
}

static void run_collective(struct run *run, const struct bench_case *what)
{
	const struct args *args = run->args;
	struct job job = { .args = args, .what = what, .world = run->world, .device = run->device, .comm = run->comm,
			   .memory = symmetric_source(run),
			   .rank = run->world->rank, .n = run->world->size, .root = args->root,
			   .in_place = args->in_place && what->can_be_in_place };
	int n_dtypes = what->span != NULL ? args->n_dtypes : 1, n_ops = what->reduces ? args->n_ops : 1;

	if (run->to_text && !args->csv)
		report_text_columns(args, what->name, false);
	if (run->to_text && args->in_place && !what->can_be_in_place && what->span != NULL)
		report_text_note("%s has no in-place form: out of place", what->name);
	for (int t = 0; t < n_dtypes; t++)
		for (int o = 0; o < n_ops; o++) {
			job.dtype = args->dtypes[t];
			job.elem_bytes = choir_dtype_bytes(job.dtype);
			job.op = what->reduces ? args->ops[o] : CHOIR_OP_LOCAL;
			if (what->reduces && !is_supported(run, &job))
				continue;
			run_sizes(run, &job);
		}
}

bool run_names_exist(const struct args *args, bool says)
{
	const char *stranger = vs_check_names(args->vs, args->n_vs), *unknown = NULL;

	for (int i = 0; i < args->n_collectives && unknown == NULL; i++)
		if (case_find(args->collectives[i]) == NULL && strcmp(args->collectives[i], "all") != 0 &&
		    strcmp(args->collectives[i], "sparse_allreduce") != 0)
			unknown = args->collectives[i];
	if (says && unknown != NULL) {
		fprintf(stderr, "choir-bench: there is no collective '%s'; there are:", unknown);
		for (int i = 0; i < n_bench_cases; i++)
			fprintf(stderr, " %s", bench_cases[i].name);
		fputs(" sparse_allreduce, and all for the dense ones\n", stderr);
	}
	if (says && stranger != NULL)
		fprintf(stderr, "choir-bench: --vs: '%s' is none of mpi, staged, bound, or named too often\n", stranger);
	return unknown == NULL && stranger == NULL;
}

bool run_fits(const struct args *args, const struct world *world)
{
	if (args->root < world->size && world->size <= JOB_MAX_RANKS)
		return true;
	if (world->rank == 0 && world->size > JOB_MAX_RANKS)
		fprintf(stderr, "choir-bench: more than %d ranks\n", JOB_MAX_RANKS);
	else if (world->rank == 0)
		fprintf(stderr, "choir-bench: --root %d: there are only %d ranks\n", args->root, world->size);
	return false;
}

int run_all(struct run *run)
{
	const struct args *args = run->args;
	uint64_t wrong;

	if (run->to_text && args->csv)
		report_csv_columns(args);
	for (int i = 0; i < args->n_collectives; i++) {
		const struct bench_case *what = case_find(args->collectives[i]);

		if (strcmp(args->collectives[i], "sparse_allreduce") == 0)
			sparse_run(run);
		else if (what != NULL)
			run_collective(run, what);
		for (int k = 0; what == NULL && strcmp(args->collectives[i], "all") == 0 && k < n_bench_cases; k++)
			run_collective(run, &bench_cases[k]);
	}
	wrong = run->faults;
	for (size_t i = 0; i < run->results.n; i++)
		wrong += run->results.rows[i].wrong;
	if (run->results.n == 0)
		return EXIT_USAGE;
	return wrong == 0 ? EXIT_FINE : EXIT_WRONG;
}
