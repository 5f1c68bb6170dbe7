/* SPDX-License-Identifier: MIT */
/* A step: everything is enqueued and every collective called before anything is waited for; while the device works the
 * host makes the next step's words.  Each update follows its own sum.  The loss is read one step late, so that no step
 * waits for it. */
#include "trainer.h"

void trainer_words(struct trainer *trainer, uint64_t step)
{
	const struct model_shape *shape = &trainer->model.shape;
	struct model_words *words = trainer->words + (step & 1);

	batcher_fill(&trainer->batcher, step * shape->batch_rows + trainer->first_row, shape->rows, words->contexts,
	             words->out_words + shape->candidates);
	sampler_draw(&trainer->sampler, step, words->out_words);
	sampler_bias(&trainer->sampler, words->out_words, shape->candidates + shape->rows, words->bias);
}

choir_status trainer_compute(struct trainer *trainer, uint64_t step, float stop,
                             choir_status (*start)(struct exchange *exchange, struct bucket *bucket, cl_event ready))
{
	static choir_status (*const back[N_BUCKETS])(struct model *, cl_event *) = {
		[BUCKET_OUT] = model_back_output,
		[BUCKET_PROJECTION] = model_back_projection,
		[BUCKET_HIDDEN] = model_back_hidden,
		[BUCKET_IN] = model_back_input,
	};
	choir_status st;

	TRY(model_set(&trainer->model, trainer->words + (step & 1)));
	TRY(model_forward(&trainer->model, stop));
	for (int i = 0; i < N_BUCKETS; i++) {
		cl_event ready;

		TRY(back[i](&trainer->model, &ready));
		/* whoever watches the event must see it move */
		clFlush(trainer->ocl.queue);
		st = start ? start(trainer->exchange, trainer->buckets + i, ready) : CHOIR_SUCCESS;
		clReleaseEvent(ready);
		TRY(st);
	}
	return CHOIR_SUCCESS;
}

static choir_status update(struct trainer *trainer, const struct bucket *bucket, double rate, double table_rate)
{
	struct model *model = &trainer->model;
	cl_mem table = bucket->id == BUCKET_OUT ? model->out_table : model->in_table;

	if (!bucket->index)
		return model_update_dense(model, bucket->values, bucket->first, bucket->count, (float)rate);
	return model_update_rows(model, table, bucket->result_index, bucket->result_rows, bucket->n_results,
	                         (float)table_rate);
}

static choir_status read_outcome(struct trainer *trainer, struct outcome *outcome)
{
	size_t off = (trainer->model.at.loss - trainer->model.at.w2) * sizeof(float);
	cl_int rc = clEnqueueReadBuffer(trainer->ocl.queue, trainer->model.projection_gradient, CL_FALSE, off,
	                                sizeof outcome->loss_stop, outcome->loss_stop, 0, NULL, &outcome->read);

	if (!rc)
		rc = clFlush(trainer->ocl.queue);
	return rc ? fail_cl("clEnqueueReadBuffer", rc) : CHOIR_SUCCESS;
}

choir_status outcome_wait(struct outcome *outcome)
{
	cl_int rc = clWaitForEvents(1, &outcome->read);

	clReleaseEvent(outcome->read);
	outcome->read = NULL;
	outcome->figures.loss = outcome->loss_stop[0];
	return rc ? fail_cl("clWaitForEvents", rc) : CHOIR_SUCCESS;
}

/* The length of the union of the spans from ready to done, which begin in the order of the buckets; and what of it came
 * after the last gradient was there. */
static void figure(struct trainer *trainer, struct step_figures *figures)
{
	int64_t covered = 0, computed = stamp_wait(&trainer->buckets[N_BUCKETS - 1].ready);

	*figures = (struct step_figures){ 0 };
	for (int i = 0; i < N_BUCKETS; i++) {
		struct bucket *bucket = trainer->buckets + i;
		int64_t from = stamp_wait(&bucket->ready), to = stamp_wait(&bucket->done);

		if (from < covered)
			from = covered;
		if (to > from) {
			figures->comm_ns += to - from;
			covered = to;
		}
		figures->received += bucket->index ? 0 : bucket->received;
		if (bucket->index) {
			figures->rows_in += bucket->n_rows;
			figures->rows_out += bucket->n_results;
		}
	}
	figures->shown_ns = covered > computed ? covered - computed : 0;
}

choir_status trainer_step(struct trainer *trainer, uint64_t step, float stop, double rate, double table_rate)
{
	struct exchange *exchange = trainer->exchange;
	struct outcome *outcome = trainer->outcomes + (step & 1);

	TRY(trainer_compute(trainer, step, stop, exchange->ops->start));
	trainer_words(trainer, step + 1);
	for (int i = 0; i < N_BUCKETS; i++) {
		TRY(exchange->ops->finish(exchange, trainer->buckets + i));
		TRY(update(trainer, trainer->buckets + i, rate, table_rate));
		clFlush(trainer->ocl.queue);
	}
	TRY(read_outcome(trainer, outcome));
	for (int i = 0; i < N_BUCKETS; i++)
		TRY(exchange->ops->settle(exchange, trainer->buckets + i));
	figure(trainer, &outcome->figures);
	return CHOIR_SUCCESS;
}
