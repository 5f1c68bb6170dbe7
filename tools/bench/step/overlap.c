/* SPDX-License-Identifier: MIT */
#include "overlap.h"

#include "replay.h"
#include "bench/report/report.h"
#include "bench/data/symmetric.h"
#include "tensor_list.h"
#include "bench/ranks/watchdog.h"

#include "lib/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const parts[] = { "compute", "alone", "mpi" };
enum { PART_COMPUTE, PART_ALONE, PART_MPI };

static bool wants_mpi(const struct args *args)
{
	for (int i = 0; i < args->n_vs; i++)
		if (strcmp(args->vs[i], "mpi") == 0)
			return true;
	return false;
}

/* The parts stand where other rows have the ways of --vs. */
static struct args with_parts(const struct args *given)
{
	struct args args = *given;

	args.n_vs = wants_mpi(given) ? PART_MPI + 1 : PART_MPI;
	memcpy(args.vs, parts, (size_t)args.n_vs * sizeof *parts);
	args.all_algorithms = false;
	args.algorithm = args_forced(given);
	return args;
}

static void no_memory(struct run *run)
{
	fprintf(stderr, "choir-bench: rank %d: no memory for %s\n", run->world->rank, run->title);
	world_fail(run->world, EXIT_WRONG);
}

static void open_field(struct run *run, struct replay *replay, struct run_field *field)
{
	const char *why_not[VS_MAX] = { "", "", "" };

	watchdog_pat("preparing buffers");
	if (!replay_open(replay))
		no_memory(run);
	field->n_ours = 1;
	field->ours[0] = replay_by_choir(replay, "choir", true, true);
	field->vs[PART_COMPUTE] = replay_by_choir(replay, "compute", true, false);
	field->vs[PART_ALONE] = replay_by_choir(replay, "alone", false, true);
	if (field->ours[0] == NULL || field->vs[PART_COMPUTE] == NULL || field->vs[PART_ALONE] == NULL)
		no_memory(run);
	if (run->args->n_vs <= PART_MPI)
		return;
	field->vs[PART_MPI] = replay_by_mpi(replay, &why_not[PART_MPI]);
	if (field->vs[PART_MPI] != NULL)
		contender_take_fastest(run->world, field->vs[PART_MPI]);
	run_note_vs(run, why_not, field->vs);
}

static void measure_replay(struct run *run, struct replay *replay, struct run_field *field, const struct job *job,
                           struct result *row)
{
	struct result_overlap *overlap = &row->overlap;

	row->kind = RESULT_OVERLAP;
	run_measure(run, job, field, row->bytes, job_bus_factor(&replay->items->job), row);
	*overlap = (struct result_overlap){ .compute_us = row->vs[PART_COMPUTE].p50_us,
		                            .alone_us = row->vs[PART_ALONE].p50_us };
	overlap->exposed_us = row->us.p50 - overlap->compute_us;
	overlap->hidden =
	    (overlap->compute_us + overlap->alone_us - row->us.p50) / fmin(overlap->compute_us, overlap->alone_us);
	run_close(run, field);
	replay_close(replay);
	run_report(run, row);
}

static void overlap_row(struct run *run, const struct job *job)
{
	struct replay_item item = { .job = *job };
	struct replay replay = { .items = &item, .n = 1, .world = run->world, .compute = run->compute };
	struct run_field field = { .n_ours = 0 };
	struct result row = { .collective = run->title,
		              .bytes = job->bytes,
		              .count = job->layout.count,
		              .dtype = choir_dtype_name(job->dtype),
		              .op = job->what->reduces ? choir_op_name(job->op) : "none",
		              .memory = args_memory_names[run->args->memory],
		              .in_place = job->in_place,
		              .in_flight = 1 };

	open_field(run, &replay, &field);
	replay.trailing_us = run->args->compute_ms * 1000;
	if (replay.trailing_us <= 0)
		replay.trailing_us = contender_trial_us(run->world, field.vs[PART_ALONE]);
	measure_replay(run, &replay, &field, job, &row);
}

static void with_compute(struct run *run, void (*rows)(struct run *run, const void *ctx), const void *ctx)
{
	const struct args *given = run->args;
	struct args args = with_parts(given);
	struct compute compute;

	if (!compute_open(&compute, run->world, run->device))
		world_fail(run->world, EXIT_WRONG);
	for (int i = 0; i < given->n_vs; i++)
		if (strcmp(given->vs[i], "mpi") != 0)
			run_note_no(run, given->vs[i], "an overlap is compared with its parts, and with mpi");
	run->args = &args;
	run->compute = &compute;
	run->notes = 0;
	rows(run, ctx);
	run->args = given;
	run->compute = NULL;
	compute_close(&compute);
}

static void overlap_rows(struct run *run, const void *what)
{
	run_collective(run, what, run->title, RESULT_OVERLAP, overlap_row);
}

void overlap_run(struct run *run, const char *title, const struct collective_row *what)
{
	run->title = title;
	with_compute(run, overlap_rows, what);
}

/* Gradients are averaged, in place. */
static struct job job_of(struct run *run, const struct list_tensor *tensor)
{
	struct job job = run_job(run, &collectives[ALLREDUCE], tensor->dtype, CHOIR_OP_MEAN);

	job.in_place = true;
	job_size(&job, tensor->count * job.elem_bytes);
	return job;
}

static const char *dtype_of(const struct tensor_list *list)
{
	for (int i = 1; i < list->n; i++)
		if (list->tensors[i].dtype != list->tensors[0].dtype)
			return "mixed";
	return choir_dtype_name(list->tensors[0].dtype);
}

/* Delays are scaled where --compute says how long they are to be together. */
static double scale_of(const struct run *run, const struct tensor_list *list)
{
	double sum = 0;

	for (int i = 0; i < list->n; i++)
		sum += list->tensors[i].delay_us;
	return run->args->compute_ms > 0 && sum > 0 ? run->args->compute_ms * 1000 / sum : 1;
}

static void trainer_rows(struct run *run, const void *ctx)
{
	const struct tensor_list *list = ctx;
	struct replay replay = { .n = list->n,
		                 .world = run->world,
		                 .compute = run->compute,
		                 .items = calloc((size_t)list->n, sizeof *replay.items) };
	struct run_field field = { .n_ours = 0 };
	struct result row = { .collective = run->title,
		              .dtype = dtype_of(list),
		              .op = choir_op_name(CHOIR_OP_MEAN),
		              .memory = args_memory_names[run->args->memory],
		              .in_place = true,
		              .in_flight = list->n,
		              .tensors = list->n };
	struct symmetric_pool pool;
	size_t room = 0;
	struct job whole;

	if (replay.items == NULL)
		no_memory(run);
	for (int i = 0; i < list->n; i++) {
		replay.items[i].job = job_of(run, &list->tensors[i]);
		replay.items[i].delay_us = list->tensors[i].delay_us * scale_of(run, list);
		row.bytes += replay.items[i].job.bytes;
		row.count += list->tensors[i].count;
		room += check_bytes(&replay.items[i].job);
	}
	if (!symmetric_pool_open(&pool, run, room))
		no_memory(run);
	for (int i = 0; i < list->n; i++)
		replay.items[i].job.memory = symmetric_pool_source(&pool);
	whole = replay.items->job;
	whole.bytes = row.bytes;
	if (run->to_text && !run->args->csv)
		report_text_columns(run->args, run->title, RESULT_OVERLAP);
	open_field(run, &replay, &field);
	measure_replay(run, &replay, &field, &whole, &row);
	symmetric_pool_close(&pool);
	free(replay.items);
}

void trainer_run(struct run *run)
{
	struct tensor_list list;
	char error[TENSOR_ERROR_BYTES];

	if (!tensor_list_read(run->args->trainer_path, &list, error)) {
		if (run->world->rank == 0)
			fprintf(stderr, "choir-bench: --trainer: %s\n", error);
		world_fail(run->world, EXIT_USAGE);
	}
	run->title = "trainer";
	if (run->to_text && !run->args->csv)
		report_text_note("%d tensor%s of %s", list.n, number_plural(list.n), run->args->trainer_path);
	with_compute(run, trainer_rows, &list);
	tensor_list_fini(&list);
}
