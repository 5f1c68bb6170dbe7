/* SPDX-License-Identifier: MIT */
/* Many tensors: choir's in one call, in a call each, and in a call each all in flight at once; the other ways' in a
 * call each, one after another. */
#include "tensors.h"

#include "replay.h"
#include "bench/report/report.h"
#include "bench/data/symmetric.h"
#include "tensor_list.h"
#include "tensors_ours.h"
#include "vs_list.h"
#include "bench/ranks/watchdog.h"

#include "lib/number.h"

#include <stdio.h>
#include <stdlib.h>

enum { MULTI, EACH, IN_FLIGHT, N_OURS };

static struct job job_of(struct run *run, const struct list_tensor *tensor, choir_op op)
{
	struct job job = run_job(run, collective_find(run->args->tensors_of), tensor->dtype, op);

	job.root = run->args->root;
	job.in_place = run->args->in_place;
	job_size(&job, tensor->count * job.elem_bytes);
	return job;
}

static void open_field(struct run *run, struct replay *replay, struct run_field *field)
{
	const char *why_not[VS_MAX];

	watchdog_pat("preparing buffers");
	if (replay_open(replay)) {
		field->ours[MULTI] = tensors_multi(replay);
		field->ours[EACH] = tensors_each(replay);
		field->ours[IN_FLIGHT] = replay_by_choir(replay, "in flight", false, true);
	}
	field->n_ours = N_OURS;
	if (field->ours[MULTI] == NULL || field->ours[EACH] == NULL || field->ours[IN_FLIGHT] == NULL) {
		fprintf(stderr, "choir-bench: rank %d: no memory for %d tensor%s\n", run->world->rank, replay->n,
		        number_plural(replay->n));
		world_fail(run->world, EXIT_WRONG);
	}
	for (int i = 0; i < run->args->n_vs; i++)
		field->vs[i] = vs_list_open(vs_find(run->args->vs[i]), replay, &why_not[i]);
	run_note_vs(run, why_not, field->vs);
}

static void run_list(struct run *run, const struct tensor_list *list, choir_op op)
{
	struct replay replay = { .n = list->n,
		                 .world = run->world,
		                 .items = calloc((size_t)list->n, sizeof *replay.items) };
	struct result row = { .collective = "tensors",
		              .dtype = run->args->n_dtypes > 1 ? "mixed" : choir_dtype_name(run->args->dtypes[0]),
		              .op = choir_op_name(op),
		              .memory = args_memory_names[run->args->memory],
		              .in_place = run->args->in_place,
		              .in_flight = 1,
		              .tensors = list->n };
	struct run_field field = { .n_ours = 0 };
	struct result rows[N_OURS];
	struct symmetric_pool pool;
	struct job whole;
	size_t room = 0;

	if (replay.items == NULL)
		world_fail(run->world, EXIT_WRONG);
	for (int i = 0; i < list->n; i++) {
		replay.items[i].job = job_of(run, &list->tensors[i], op);
		row.bytes += replay.items[i].job.bytes;
		row.count += replay.items[i].job.layout.count;
		room += check_bytes(&replay.items[i].job);
	}
	/* A way of --vs may ask for as much again. */
	if (!symmetric_pool_open(&pool, run, room * (size_t)(1 + run->args->n_vs)))
		world_fail(run->world, EXIT_WRONG);
	for (int i = 0; i < list->n; i++)
		replay.items[i].job.memory = symmetric_pool_source(&pool);
	whole = replay.items->job;
	whole.bytes = row.bytes;
	open_field(run, &replay, &field);
	for (int k = 0; k < N_OURS; k++) {
		rows[k] = row;
		rows[k].in_flight = k == IN_FLIGHT ? list->n : 1;
		snprintf(rows[k].algorithm, sizeof rows[k].algorithm, "%s", field.ours[k]->name);
	}
	run_measure(run, &whole, &field, row.bytes, job_bus_factor(&whole), rows);
	run_close(run, &field);
	replay_close(&replay);
	symmetric_pool_close(&pool);
	free(replay.items);
	for (int k = 0; k < N_OURS; k++)
		run_report(run, &rows[k]);
}

void tensors_run(struct run *run)
{
	struct tensor_list list;
	char error[TENSOR_ERROR_BYTES], title[64];

	if (!tensors_have(run->args->tensors_of)) {
		if (run->world->rank == 0)
			fprintf(stderr, "choir-bench: --tensors-of: there are no lists of '%s'\n",
			        run->args->tensors_of);
		world_fail(run->world, EXIT_USAGE);
	}
	if (!tensor_list_parse(run->args->tensors, run->args->dtypes, run->args->n_dtypes, &list, error)) {
		if (run->world->rank == 0)
			fprintf(stderr, "choir-bench: --tensors: %s\n", error);
		world_fail(run->world, EXIT_USAGE);
	}
	if (run->to_text && !run->args->csv) {
		snprintf(title, sizeof title, "%s of tensors", run->args->tensors_of);
		report_text_columns(run->args, title, RESULT_DENSE);
		report_text_note("%d tensor%s: one call for all, a call each, a call each all in flight", list.n,
		                 number_plural(list.n));
	}
	for (int i = 0; i < (collective_find(run->args->tensors_of)->reduces ? run->args->n_ops : 1); i++)
		run_list(run, &list, run->args->ops[i]);
	tensor_list_fini(&list);
}
