/* SPDX-License-Identifier: MIT */
#include "trainer.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A sum has a row a word: no more than there are words, or than all ranks send. */
static choir_status init_sparse(struct trainer *trainer, enum bucket_id id, const char *name, cl_mem index, cl_mem rows,
                                size_t n_rows, size_t n_all)
{
	struct bucket *bucket = trainer->buckets + id;
	const struct model_shape *shape = &trainer->model.shape;

	*bucket = (struct bucket){
		.id = id, .name = name, .index = index, .values = rows, .n_rows = n_rows, .width = shape->width
	};
	bucket->room = least(n_all, shape->vocabulary);
	TRY(ocl_buffer(&trainer->ocl, bucket->room * sizeof(int32_t), &bucket->result_index));
	return ocl_buffer(&trainer->ocl, bucket->room * bucket->width * sizeof(float), &bucket->result_rows);
}

choir_status buckets_init(struct trainer *trainer)
{
	struct model *model = &trainer->model;
	const struct model_shape *shape = &model->shape;
	const struct model_layout *at = &model->at;

	trainer->buckets[BUCKET_PROJECTION] = (struct bucket){ .id = BUCKET_PROJECTION,
		                                               .name = "projection",
		                                               .values = model->projection_gradient,
		                                               .first = at->w2,
		                                               .count = at->total - at->w2,
		                                               .n_whole = at->total - at->loss };
	trainer->buckets[BUCKET_HIDDEN] = (struct bucket){ .id = BUCKET_HIDDEN,
		                                           .name = "hidden layer",
		                                           .values = model->hidden_gradient,
		                                           .first = at->w1,
		                                           .count = at->w2 - at->w1 };
	/* every rank sends the same candidates */
	TRY(init_sparse(trainer, BUCKET_OUT, "output table", model->out_words, model->out_rows,
	                shape->candidates + shape->rows, shape->candidates + shape->batch_rows));
	return init_sparse(trainer, BUCKET_IN, "input table", model->contexts, model->in_rows,
	                   shape->rows * shape->context, shape->batch_rows * shape->context);
}

void buckets_fini(struct trainer *trainer)
{
	for (int i = 0; i < N_BUCKETS; i++) {
		struct bucket *bucket = trainer->buckets + i;

		choir_event_release(bucket->event);
		choir_event_release(bucket->whole_event);
		if (bucket->result_index)
			clReleaseMemObject(bucket->result_index);
		if (bucket->result_rows)
			clReleaseMemObject(bucket->result_rows);
		*bucket = (struct bucket){ 0 };
	}
}
