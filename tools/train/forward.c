/* SPDX-License-Identifier: MIT */
#include "model.h"

static choir_status gather(struct model *model, cl_mem out, cl_mem table, cl_mem words, size_t first, size_t n_rows)
{
	cl_uint first_word = (cl_uint)first, n = (cl_uint)(n_rows * model->shape.width);
	struct ocl_arg args[] = { OCL_ARG(out), OCL_ARG(table), OCL_ARG(words), OCL_ARG(first_word), OCL_ARG(n) };

	return ocl_launch(model->ocl, OCL_gather_rows, n, args, 5, NULL);
}

static choir_status add_bias(struct model *model, enum ocl_kernel kernel, cl_mem matrix, size_t bias, size_t width)
{
	cl_uint first = (cl_uint)bias, columns = (cl_uint)width, n = (cl_uint)(model->shape.rows * width);
	struct ocl_arg args[] = { OCL_ARG(matrix), OCL_ARG(model->dense), OCL_ARG(first), OCL_ARG(columns),
		                  OCL_ARG(n) };

	return ocl_launch(model->ocl, kernel, n, args, 5, NULL);
}

static choir_status layers(struct model *model)
{
	const struct model_shape *shape = &model->shape;
	size_t n_x = shape->context * shape->width;
	struct ocl_matrix x = { model->x, 0, n_x, 0 }, w1 = { model->dense, model->at.w1, shape->hidden, 0 };
	struct ocl_matrix h = { model->h, 0, shape->hidden, 0 }, w2 = { model->dense, model->at.w2, shape->width, 0 };
	struct ocl_matrix p = { model->p, 0, shape->width, 0 };

	TRY(gather(model, model->x, model->in_table, model->contexts, 0, shape->rows * shape->context));
	TRY(ocl_product(model->ocl, shape->rows, shape->hidden, n_x, x, w1, 0, h, NULL));
	TRY(add_bias(model, OCL_add_bias_tanh, model->h, model->at.b1, shape->hidden));
	TRY(ocl_product(model->ocl, shape->rows, shape->width, shape->hidden, h, w2, 0, p, NULL));
	return add_bias(model, OCL_add_bias, model->p, model->at.b2, shape->width);
}

static choir_status softmax(struct model *model)
{
	const struct model_shape *shape = &model->shape;
	struct ocl_matrix p = { model->p, 0, shape->width, 0 },
			  candidates = { model->candidate_rows, 0, shape->width, 1 };
	struct ocl_matrix logits = { model->logits, 0, shape->candidates, 0 };
	cl_uint n_candidates = (cl_uint)shape->candidates;
	float scale = 1.0f / (float)shape->batch_rows;
	struct ocl_arg args[] = { OCL_ARG(model->logits), OCL_ARG(model->target_gradient), OCL_ARG(model->losses),
		                  OCL_ARG(model->p),      OCL_ARG(model->target_table),    OCL_ARG(model->out_words),
		                  OCL_ARG(model->bias),   OCL_ARG(n_candidates),           OCL_ARG(scale) };

	TRY(gather(model, model->candidate_rows, model->out_table, model->out_words, 0, shape->candidates));
	TRY(gather(model, model->target_table, model->out_table, model->out_words, shape->candidates, shape->rows));
	TRY(ocl_product(model->ocl, shape->rows, shape->candidates, shape->width, p, candidates, 0, logits, NULL));
	return ocl_launch(model->ocl, OCL_sampled_softmax, shape->rows * OCL_GROUP, args, 9, NULL);
}

choir_status model_forward(struct model *model, float stop)
{
	cl_uint at = (cl_uint)(model->at.loss - model->at.w2), n = (cl_uint)model->shape.rows;
	struct ocl_arg args[] = { OCL_ARG(model->projection_gradient), OCL_ARG(at), OCL_ARG(model->losses),
		                  OCL_ARG(stop), OCL_ARG(n) };

	TRY(layers(model));
	TRY(softmax(model));
	return ocl_launch(model->ocl, OCL_sum_losses, OCL_GROUP, args, 5, NULL);
}
