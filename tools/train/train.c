/* SPDX-License-Identifier: MIT */
#include "train.h"
#include "trainer.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static choir_status words_init(struct model_words *words, const struct model_shape *shape)
{
	size_t n_out = shape->candidates + shape->rows;

	words->contexts = malloc(shape->rows * shape->context * sizeof *words->contexts);
	words->out_words = malloc(n_out * sizeof *words->out_words);
	words->bias = malloc(n_out * sizeof *words->bias);
	return words->contexts && words->out_words && words->bias ? CHOIR_SUCCESS : fail_memory("a batch", n_out * 8);
}

static void words_fini(struct model_words *words)
{
	free(words->contexts);
	free(words->out_words);
	free(words->bias);
}

static choir_status open_exchange(struct trainer *trainer, const struct text *text, const struct seat *seat)
{
	const struct options *options = trainer->options;
	struct compression compression = { .algorithm = options->compress,
		                           .density = options->density,
		                           .momentum = options->momentum,
		                           .dense_steps = options->dense_steps };

	return options->via == VIA_MPI ? exchange_mpi(&trainer->ocl, text->n_words, &trainer->exchange)
	                               : exchange_choir(&trainer->ocl, seat->comm, &compression, &trainer->exchange);
}

/* Frequent words take part in much of a batch's mean gradient and stand only small rates; with those, the rare ones,
 * nearly all, would stay where they are.  So rates fall with the root of a word's share of the text: fixed beforehand,
 * and still plain SGD. */
static choir_status create_model(struct trainer *trainer, const struct text *text, const struct model_shape *shape)
{
	float *word_rate = malloc(text->n_words * sizeof *word_rate);
	double least = 1 / (double)shape->batch_rows;
	choir_status st;

	if (!word_rate)
		return fail_memory("the words' rates", text->n_words * sizeof *word_rate);
	for (size_t k = 0; k < text->n_words; k++) {
		double share = (double)text->counts[k] / (double)text->n_tokens;

		word_rate[k] = (float)(1 / sqrt(share > least ? share : least));
	}
	st = model_create(&trainer->model, &trainer->ocl, shape, word_rate);
	free(word_rate);
	return st;
}

static choir_status trainer_open(struct trainer *trainer, const struct text *text, const struct seat *seat)
{
	const struct options *options = trainer->options;
	struct model_shape shape = { .vocabulary = text->n_words,
		                     .context = options->context,
		                     .width = options->width,
		                     .hidden = options->hidden,
		                     .batch_rows = options->batch,
		                     .seed = options->seed,
		                     .momentum = options->compress ? 0 : (float)options->momentum };

	if (options->batch < (size_t)seat->size)
		return failure(CHOIR_ARGUMENT, "a batch of %zu has no row for each of %d ranks", options->batch,
		               seat->size);
	trainer->first_row = slice_first(options->batch, seat->rank, seat->size);
	shape.rows = slice_first(options->batch, seat->rank + 1, seat->size) - trainer->first_row;
	TRY(ocl_open(&trainer->ocl, choir_device_context(seat->device), choir_device_id(seat->device), options->width));
	TRY(batcher_init(&trainer->batcher, text, (int)options->context, options->seed));
	TRY(sampler_init(&trainer->sampler, text, options->candidates, options->seed));
	shape.candidates = trainer->sampler.n_candidates;
	TRY(create_model(trainer, text, &shape));
	TRY(words_init(trainer->words, &shape));
	TRY(words_init(trainer->words + 1, &shape));
	TRY(buckets_init(trainer));
	TRY(open_exchange(trainer, text, seat));
	return options->compare ? compare_create(&trainer->ocl, seat->comm, trainer->buckets, &trainer->compare)
	                        : CHOIR_SUCCESS;
}

static void trainer_close(struct trainer *trainer)
{
	if (trainer->ocl.queue)
		clFinish(trainer->ocl.queue);
	compare_destroy(trainer->compare);
	if (trainer->exchange)
		trainer->exchange->ops->destroy(trainer->exchange);
	buckets_fini(trainer);
	for (int i = 0; i < 2; i++) {
		words_fini(trainer->words + i);
		if (trainer->outcomes[i].read)
			clReleaseEvent(trainer->outcomes[i].read);
	}
	model_destroy(&trainer->model);
	sampler_fini(&trainer->sampler);
	batcher_fini(&trainer->batcher);
	ocl_close(&trainer->ocl);
}

/* Forward, backward and updates once, at rate 0 and without the others: every kernel of ours and of CLBlast gets
 * built. */
static choir_status build_all(struct trainer *trainer)
{
	struct model *model = &trainer->model;
	cl_int rc;

	TRY(trainer_compute(trainer, 0, 0, NULL));
	TRY(model_update_dense(model, model->hidden_gradient, model->at.w1, model->at.w2, 0));
	TRY(model_update_rows(model, model->in_table, model->contexts, model->in_rows, 1, 0));
	rc = clFinish(trainer->ocl.queue);
	return rc ? fail_cl("clFinish", rc) : CHOIR_SUCCESS;
}

/* Note [warm-up].  All ranks meet first: a rank that has called before is late later on, not missing (the library takes
 * a local rank without a call for one that the waiting thread forgot).  One rank of a machine builds before the others,
 * who then find the drivers' caches filled (PoCL's cannot stand several builders of one kernel); then one step of all
 * together, at rate 0, builds what the exchange needs. */
static choir_status warm_up(struct trainer *trainer, const struct seat *seat)
{
	const struct exchange_ops *ops = trainer->exchange->ops;

	trainer_words(trainer, 0);
	TRY(ops->barrier(trainer->exchange));
	if (seat->node_rank == 0)
		TRY(build_all(trainer));
	TRY(ops->barrier(trainer->exchange));
	if (seat->node_rank != 0)
		TRY(build_all(trainer));
	TRY(ops->barrier(trainer->exchange));
	TRY(trainer_step(trainer, 0, 0, 0, 0));
	TRY(outcome_wait(trainer->outcomes));
	if (ops->forget)
		TRY(ops->forget(trainer->exchange));
	TRY(model_forget(&trainer->model));
	trainer_words(trainer, 0);
	return ops->barrier(trainer->exchange);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = signal;
}

/* What rank 0 decides by its clock or by Ctrl-C.  The signals are summed with a step's loss, so that all ranks see them
 * at the same step, while they do the next. */
enum { SIGNAL_STOP = 1, SIGNAL_LINE = 2 };

static float signals(const struct options *options, const struct report *report)
{
	int64_t ns = stamp_clock() - report->whole.begin_ns;
	bool stops = interrupted || (options->seconds > 0 && (double)ns * 1e-9 >= options->seconds);

	return report->speaks ? (float)(SIGNAL_STOP * stops + SIGNAL_LINE * report_wants_line(report)) : 0;
}

static choir_status compare(struct trainer *trainer, struct report *report, uint64_t step)
{
	int64_t ns;

	if (!trainer->compare || step % trainer->options->compare != 0)
		return CHOIR_SUCCESS;
	TRY(compare_step(trainer->compare, &ns));
	report_pause(report, ns);
	return CHOIR_SUCCESS;
}

/* Puts the comm of n steps together: a rank that is done with its step early only waits for the last one. */
static choir_status gather_comm(struct trainer *trainer, struct report *report, uint64_t first, uint64_t n)
{
	const struct exchange_ops *ops = trainer->exchange->ops;

	return ops->least(trainer->exchange, &report->comm[first].whole_s, n * sizeof *report->comm / sizeof(double));
}

static choir_status finish(struct trainer *trainer, struct report *report)
{
	int64_t begin = stamp_clock();

	TRY(gather_comm(trainer, report, report->interval.first, report->interval.n_steps));
	if (trainer->compare)
		TRY(compare_end(trainer->compare));
	report_pause(report, stamp_clock() - begin);
	report->compare = trainer->compare;
	report_end(report);
	TRY(report_files(report));
	return trainer->compare ? compare_verdict(trainer->compare) : CHOIR_SUCCESS;
}

static choir_status loop(struct trainer *trainer, struct report *report)
{
	const struct options *options = trainer->options;
	uint64_t step = 0;
	int signal = 0;

	/* The second Ctrl-C ends the program as it would any other. */
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND }, NULL);
	report_begin(report);
	while ((signal & SIGNAL_STOP) == 0 && (options->steps == 0 || step < options->steps)) {
		TRY(trainer_step(trainer, step, signals(options, report), options->rate, options->table_rate));
		TRY(compare(trainer, report, step));
		if (step++ == 0)
			continue;
		TRY(outcome_wait(trainer->outcomes + (step & 1)));
		signal = (int)trainer->outcomes[step & 1].loss_stop[1];
		TRY(report_step(report, &trainer->outcomes[step & 1].figures));
		/* Rank 0 has asked again in the step before it saw its own signal. */
		if ((signal & SIGNAL_LINE) == 0 || report->interval.n_steps < 2)
			continue;
		TRY(gather_comm(trainer, report, report->interval.first, report->interval.n_steps));
		report_line(report);
	}
	TRY(outcome_wait(trainer->outcomes + ((step - 1) & 1)));
	TRY(report_step(report, &trainer->outcomes[(step - 1) & 1].figures));
	return finish(trainer, report);
}

choir_status train_run(const struct options *options, const struct text *text, const struct seat *seat)
{
	struct trainer trainer = { .options = options };
	struct report report = { .options = options, .n_ranks = seat->size, .speaks = seat->rank == 0 };
	choir_status st;

	fail_rank(seat->size > 1 ? seat->rank : -1);
	clGetDeviceInfo(choir_device_id(seat->device), CL_DEVICE_NAME, sizeof report.device - 1, report.device, NULL);
	st = trainer_open(&trainer, text, seat);
	if (st == CHOIR_SUCCESS) {
		report.n_vocabulary = text->n_words;
		report.n_examples = trainer.batcher.n_positions;
		report.n_candidates = trainer.sampler.n_candidates;
		st = report_init(&report);
	}
	if (st == CHOIR_SUCCESS)
		st = warm_up(&trainer, seat);
	if (st == CHOIR_SUCCESS)
		st = loop(&trainer, &report);
	report_fini(&report);
	trainer_close(&trainer);
	return st;
}
