/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "bench/cases/job.h"
#include "bench/report/report.h"
#include "bench/ranks/world.h"

#include <stdio.h>

static size_t next_size(const struct args *args, size_t size)
{
	size_t next = args->step > 0 ? size + args->step : (size_t)((double)size * args->factor);

	return next > size ? next : size + 1;
}

static void run_sizes(struct run *run, struct job *job, run_row_fn *row)
{
	size_t last = 0;
	bool first = true;

	for (size_t size = run->args->begin; size <= run->args->end; size = next_size(run->args, size)) {
		job_size(job, size);
		/* Sizes below one element a rank come out the same. */
		if (!first && job->bytes == last)
			continue;
		first = false;
		last = job->bytes;
		row(run, job);
	}
}

/* Whether (dtype, op) exists; what was asked for by name and does not is said. */
static bool is_supported(struct run *run, const struct job *job)
{
	choir_status st = choir_supports(job->comm, job->what->name, job->dtype, job->op, choir_none());
	bool by_name = !(run->args->all_ops || run->args->all_dtypes);

	if (st == CHOIR_SUCCESS)
		return true;
	if (by_name && run->world->rank == 0)
		fprintf(stderr, "choir-bench: %s: %s\n", job->what->name, choir_last_error());
	return false;
}

void run_collective(struct run *run, const struct collective_row *what, const char *title, enum result_kind kind,
                    run_row_fn *row)
{
	const struct args *args = run->args;
	struct job job;
	int n_dtypes = what->kind != SPREAD_NOTHING ? args->n_dtypes : 1, n_ops = what->reduces ? args->n_ops : 1;

	if (run->to_text && !args->csv)
		report_text_columns(args, title, kind);
	if (run->to_text && !args->csv && args->in_place && !what->in_place && what->kind != SPREAD_NOTHING)
		report_text_note("%s has no in-place form: out of place", what->name);
	for (int t = 0; t < n_dtypes; t++)
		for (int o = 0; o < n_ops; o++) {
			job = run_job(run, what, args->dtypes[t], what->reduces ? args->ops[o] : CHOIR_OP_LOCAL);
			job.root = args->root;
			job.in_place = args->in_place && what->in_place;
			if (what->reduces && !is_supported(run, &job))
				continue;
			run_sizes(run, &job, row);
		}
}
