/* SPDX-License-Identifier: MIT */
/* One row's contenders: measured in turns, reported, closed. */
#include "run.h"

#include "bench/report/interrupt.h"
#include "lib/number.h"
#include "measure.h"
#include "bench/report/report.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCHES_BELOW = 65536 };

void run_note_no(const struct run *run, const char *way, const char *why)
{
	if (run->world->rank == 0)
		fprintf(run->to_text && !run->args->csv ? stdout : stderr, "# no %s here: %s\n", way, why);
}

void run_note_vs(struct run *run, const char *const *why_not, struct contender *const *vs)
{
	for (int i = 0; i < run->args->n_vs; i++) {
		if (vs[i] != NULL || (run->notes & 1 << i) != 0)
			continue;
		run->notes |= 1 << i;
		run_note_no(run, run->args->vs[i], why_not[i]);
	}
}

void run_report(struct run *run, const struct result *row)
{
	interrupt_add(&run->results, row);
	if (!run->to_text)
		return;
	if (run->args->csv && run->headed != run->args)
		report_csv_columns(run->args);
	run->headed = run->args;
	if (run->args->csv)
		report_csv_row(run->args, row);
	else
		report_text_row(run->args, row);
}

static void take_times(const struct args *args, const struct series *ours, const struct result_vs *vs, size_t bytes,
                       double bus_factor, struct result *row)
{
	row->us = stats_of(ours->us, (size_t)args->iterations);
	row->first_us = ours->first_us;
	row->wrong = ours->wrong;
	row->checked = ours->checked;
	row->algbw_GBps = result_rate(bytes, row->us.p50);
	row->busbw_GBps = row->algbw_GBps * bus_factor;
	row->n_vs = args->n_vs;
	for (int i = 0; i < args->n_vs; i++) {
		row->vs[i] = vs[i];
		row->vs[i].ratio = row->us.p50 > 0 ? vs[i].p50_us / row->us.p50 : 0;
	}
}

static void note_faults(struct run *run, const char *label, const struct contender *contender,
                        const struct series *series)
{
	run->faults += series->wrong;
	if (series->wrong > 0 && run->world->rank == 0)
		fprintf(stderr, "choir-bench: %s: %s computed %llu wrong element%s: a fault of the bench\n", label,
		        contender->name, (unsigned long long)series->wrong, number_plural(series->wrong));
}

void run_measure(struct run *run, const struct job *job, const struct run_field *field, size_t bytes, double bus_factor,
                 struct result *rows)
{
	const struct args *args = run->args;
	char label[96], size[16];
	struct measure_plan plan = { .world = run->world,
		                     .iterations = args->iterations,
		                     .warmup = args->warmup,
		                     .check_every = args->check_every,
		                     .n_ours = field->n_ours,
		                     .batches = job->bytes < BATCHES_BELOW,
		                     .label = label };
	struct contender *contenders[MAX_CONTENDERS];
	struct series series[MAX_CONTENDERS];
	struct result_vs vs[VS_MAX] = { { 0 } };
	int n = 0;

	snprintf(label, sizeof label, "%s %s %s %s", rows->collective, rows->dtype, rows->op,
	         number_print_bytes(job->bytes, size));
	for (int k = 0; k < field->n_ours; k++)
		contenders[n++] = field->ours[k];
	for (int i = 0; i < args->n_vs; i++)
		if (field->vs[i] != NULL)
			contenders[n++] = field->vs[i];
	for (int k = 0; k < n; k++) {
		series[k] = (struct series){ .us = calloc((size_t)args->iterations, sizeof(double)) };
		if (series[k].us == NULL)
			world_fail(run->world, EXIT_WRONG);
	}
	measure(&plan, contenders, series, n);
	for (int i = 0, k = field->n_ours; i < args->n_vs; i++) {
		vs[i] = (struct result_vs){ .name = args->vs[i], .ran = field->vs[i] != NULL };
		if (field->vs[i] == NULL)
			continue;
		note_faults(run, label, contenders[k], &series[k]);
		vs[i].p50_us = stats_of(series[k++].us, (size_t)args->iterations).p50;
	}
	for (int k = 0; k < field->n_ours; k++)
		take_times(args, &series[k], vs, bytes, bus_factor, &rows[k]);
	for (int k = 0; k < n; k++)
		free(series[k].us);
}

void run_close(const struct run *run, struct run_field *field)
{
	for (int k = 0; k < field->n_ours; k++)
		field->ours[k]->close(field->ours[k]);
	for (int i = 0; i < run->args->n_vs; i++)
		if (field->vs[i] != NULL)
			field->vs[i]->close(field->vs[i]);
}
