/* SPDX-License-Identifier: MIT */
/* The softmax has left its gradient in logits and target_gradient.  From there each piece finishes what one collective
 * carries, the largest first, so that it travels while the rest is computed. */
#include "model.h"

static choir_status target_rows(struct model *model)
{
	cl_uint n_candidates = (cl_uint)model->shape.candidates, n = (cl_uint)(model->shape.rows * model->shape.width);
	struct ocl_arg args[] = { OCL_ARG(model->out_rows),
		                  OCL_ARG(model->p_gradient),
		                  OCL_ARG(model->target_gradient),
		                  OCL_ARG(model->p),
		                  OCL_ARG(model->target_table),
		                  OCL_ARG(n_candidates),
		                  OCL_ARG(n) };

	return ocl_launch(model->ocl, OCL_target_rows, n, args, 7, NULL);
}

static choir_status sum_columns(struct model *model, cl_mem gradient, size_t bias, cl_mem matrix, size_t columns,
                                cl_event *ready_p)
{
	cl_uint first = (cl_uint)bias, rows = (cl_uint)model->shape.rows, n = (cl_uint)columns;
	struct ocl_arg args[] = { OCL_ARG(gradient), OCL_ARG(first), OCL_ARG(matrix), OCL_ARG(rows), OCL_ARG(n) };

	return ocl_launch(model->ocl, OCL_sum_columns, n, args, 5, ready_p);
}

choir_status model_back_output(struct model *model, cl_event *ready_p)
{
	const struct model_shape *shape = &model->shape;
	struct ocl_matrix logits = { model->logits, 0, shape->candidates, 1 }, p = { model->p, 0, shape->width, 0 };
	struct ocl_matrix rows = { model->out_rows, 0, shape->width, 0 };

	TRY(target_rows(model));
	return ocl_product(model->ocl, shape->candidates, shape->width, shape->rows, logits, p, 0, rows, ready_p);
}

choir_status model_back_projection(struct model *model, cl_event *ready_p)
{
	const struct model_shape *shape = &model->shape;
	struct ocl_matrix logits = { model->logits, 0, shape->candidates, 0 },
			  candidates = { model->candidate_rows, 0, shape->width, 0 };
	struct ocl_matrix dp = { model->p_gradient, 0, shape->width, 0 }, h = { model->h, 0, shape->hidden, 1 };
	struct ocl_matrix dw2 = { model->projection_gradient, 0, shape->width, 0 };

	/* target_rows has written the targets' share of dp */
	TRY(ocl_product(model->ocl, shape->rows, shape->width, shape->candidates, logits, candidates, 1, dp, NULL));
	TRY(ocl_product(model->ocl, shape->hidden, shape->width, shape->rows, h, dp, 0, dw2, NULL));
	return sum_columns(model, model->projection_gradient, model->at.b2 - model->at.w2, model->p_gradient,
	                   shape->width, ready_p);
}

choir_status model_back_hidden(struct model *model, cl_event *ready_p)
{
	const struct model_shape *shape = &model->shape;
	size_t n_x = shape->context * shape->width;
	struct ocl_matrix dp = { model->p_gradient, 0, shape->width, 0 },
			  w2 = { model->dense, model->at.w2, shape->width, 1 };
	struct ocl_matrix dh = { model->h_gradient, 0, shape->hidden, 0 }, x = { model->x, 0, n_x, 1 };
	struct ocl_matrix dw1 = { model->hidden_gradient, 0, shape->hidden, 0 };
	cl_uint n = (cl_uint)(shape->rows * shape->hidden);
	struct ocl_arg args[] = { OCL_ARG(model->h_gradient), OCL_ARG(model->h), OCL_ARG(n) };

	TRY(ocl_product(model->ocl, shape->rows, shape->hidden, shape->width, dp, w2, 0, dh, NULL));
	TRY(ocl_launch(model->ocl, OCL_tanh_back, n, args, 3, NULL));
	TRY(ocl_product(model->ocl, n_x, shape->hidden, shape->rows, x, dh, 0, dw1, NULL));
	return sum_columns(model, model->hidden_gradient, model->at.b1, model->h_gradient, shape->hidden, ready_p);
}

choir_status model_back_input(struct model *model, cl_event *ready_p)
{
	const struct model_shape *shape = &model->shape;
	size_t n_x = shape->context * shape->width;
	struct ocl_matrix dh = { model->h_gradient, 0, shape->hidden, 0 },
			  w1 = { model->dense, model->at.w1, shape->hidden, 1 };
	struct ocl_matrix dx = { model->in_rows, 0, n_x, 0 };

	/* a row of dx is context rows of the table, in the order of contexts: nothing needs to be moved */
	return ocl_product(model->ocl, shape->rows, n_x, shape->hidden, dh, w1, 0, dx, ready_p);
}

choir_status model_update_dense(struct model *model, cl_mem gradient, size_t first, size_t n, float rate)
{
	cl_uint first_param = (cl_uint)first, n_params = (cl_uint)n;
	float momentum = model->shape.momentum;
	struct ocl_arg plain[] = { OCL_ARG(model->dense), OCL_ARG(gradient), OCL_ARG(first_param), OCL_ARG(rate),
		                   OCL_ARG(n_params) };
	struct ocl_arg with_momentum[] = { OCL_ARG(model->dense), OCL_ARG(model->velocity),
		                           OCL_ARG(gradient),     OCL_ARG(first_param),
		                           OCL_ARG(rate),         OCL_ARG(momentum),
		                           OCL_ARG(n_params) };

	if (momentum > 0)
		return ocl_launch(model->ocl, OCL_update_momentum, n, with_momentum, 7, NULL);
	return ocl_launch(model->ocl, OCL_update_dense, n, plain, 5, NULL);
}

choir_status model_update_rows(struct model *model, cl_mem table, cl_mem index, cl_mem rows, size_t n_rows, float rate)
{
	cl_uint n = (cl_uint)(n_rows * model->shape.width);
	struct ocl_arg args[] = { OCL_ARG(table), OCL_ARG(index), OCL_ARG(rows), OCL_ARG(model->word_rate),
		                  OCL_ARG(rate),  OCL_ARG(n) };

	return ocl_launch(model->ocl, OCL_update_rows, n, args, 6, NULL);
}
