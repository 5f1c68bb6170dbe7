/* SPDX-License-Identifier: MIT */
#include "model.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>

/* Uniform in +- range, the same on every rank. */
static choir_status draw(struct model *model, cl_mem mem, size_t first, size_t n, double range, uint64_t index)
{
	uint64_t state = random_stream(model->shape.seed, RANDOM_TABLE, index);
	float *values = malloc((n + 1) * sizeof *values);
	choir_status st;
	cl_int rc;

	if (!values)
		return fail_memory("the first parameters", n * sizeof *values);
	for (size_t i = 0; i < n; i++)
		values[i] = (float)((2 * random_unit(&state) - 1) * range);
	st = ocl_write(model->ocl, mem, first * sizeof *values, n * sizeof *values, values);
	rc = clFinish(model->ocl->queue);
	free(values);
	return st == CHOIR_SUCCESS && rc ? fail_cl("clFinish", rc) : st;
}

choir_status model_forget(struct model *model)
{
	return model->shape.momentum > 0 ? draw(model, model->velocity, 0, model->at.total, 0, 5) : CHOIR_SUCCESS;
}

static choir_status draw_all(struct model *model)
{
	const struct model_shape *shape = &model->shape;
	size_t n_x = shape->context * shape->width;

	TRY(draw(model, model->in_table, 0, shape->vocabulary * shape->width, 0.5, 0));
	TRY(draw(model, model->out_table, 0, shape->vocabulary * shape->width, 0.5 / sqrt((double)shape->width), 1));
	TRY(draw(model, model->dense, 0, model->at.total, 0, 2)); /* biases begin at 0 */
	TRY(model_forget(model));
	TRY(draw(model, model->dense, model->at.w1, n_x * shape->hidden, sqrt(3.0 / (double)n_x), 3));
	return draw(model, model->dense, model->at.w2, shape->hidden * shape->width, sqrt(3.0 / (double)shape->hidden),
	            4);
}

static struct model_layout layout(const struct model_shape *shape)
{
	struct model_layout at = { 0 };

	at.b1 = at.w1 + shape->context * shape->width * shape->hidden;
	at.w2 = at.b1 + shape->hidden;
	at.b2 = at.w2 + shape->hidden * shape->width;
	at.loss = at.b2 + shape->width;
	at.stop = at.loss + 1;
	at.total = at.stop + 1;
	return at;
}

/* Every buffer with its size in elements of 4 bytes. */
static choir_status buffers(struct model *model)
{
	const struct model_shape *shape = &model->shape;
	size_t n_out = shape->candidates + shape->rows, table = shape->vocabulary * shape->width,
	       n_x = shape->context * shape->width;
	const struct {
		cl_mem *mem;
		size_t n;
	} list[] = {
		{ &model->in_table, table },
		{ &model->out_table, table },
		{ &model->dense, model->at.total },
		{ &model->velocity, shape->momentum > 0 ? model->at.total : 0 },
		{ &model->word_rate, shape->vocabulary },
		{ &model->contexts, shape->rows * shape->context },
		{ &model->out_words, n_out },
		{ &model->bias, n_out },
		{ &model->x, shape->rows * n_x },
		{ &model->h, shape->rows * shape->hidden },
		{ &model->p, shape->rows * shape->width },
		{ &model->candidate_rows, shape->candidates * shape->width },
		{ &model->target_table, shape->rows * shape->width },
		{ &model->logits, shape->rows * shape->candidates },
		{ &model->target_gradient, shape->rows },
		{ &model->losses, shape->rows },
		{ &model->in_rows, shape->rows * n_x },
		{ &model->out_rows, n_out * shape->width },
		{ &model->hidden_gradient, model->at.w2 },
		{ &model->projection_gradient, model->at.total - model->at.w2 },
		{ &model->p_gradient, shape->rows * shape->width },
		{ &model->h_gradient, shape->rows * shape->hidden },
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		TRY(ocl_buffer(model->ocl, list[i].n * 4, list[i].mem));
	return CHOIR_SUCCESS;
}

static choir_status check(const struct model_shape *shape)
{
	size_t largest = shape->vocabulary * shape->width;

	if (shape->rows * shape->candidates > largest)
		largest = shape->rows * shape->candidates;
	if (shape->rows * shape->context * shape->width > largest)
		largest = shape->rows * shape->context * shape->width;
	/* kernels count in 32 bits */
	return largest < UINT32_MAX / 2
	           ? CHOIR_SUCCESS
	           : failure(CHOIR_ARGUMENT, "the model is too large: %zu elements in one buffer", largest);
}

choir_status model_create(struct model *model, struct ocl *ocl, const struct model_shape *shape, const float *word_rate)
{
	*model = (struct model){ .shape = *shape, .at = layout(shape), .ocl = ocl };
	TRY(check(shape));
	TRY(buffers(model));
	TRY(ocl_write(ocl, model->word_rate, 0, shape->vocabulary * sizeof *word_rate, word_rate));
	return draw_all(model); /* which waits for the queue */
}

void model_destroy(struct model *model)
{
	/* clang-format off */
	cl_mem list[] = {
		model->in_table, model->out_table, model->dense, model->velocity, model->word_rate,
		model->contexts, model->out_words, model->bias,
		model->x, model->h, model->p, model->candidate_rows, model->target_table, model->logits,
		model->target_gradient, model->losses,
		model->in_rows, model->out_rows, model->hidden_gradient, model->projection_gradient,
		model->p_gradient, model->h_gradient,
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i])
			clReleaseMemObject(list[i]);
	*model = (struct model){ 0 };
}

choir_status model_set(struct model *model, const struct model_words *words)
{
	const struct model_shape *shape = &model->shape;
	size_t n_out = shape->candidates + shape->rows;

	TRY(ocl_write(model->ocl, model->contexts, 0, shape->rows * shape->context * 4, words->contexts));
	TRY(ocl_write(model->ocl, model->out_words, 0, n_out * 4, words->out_words));
	return ocl_write(model->ocl, model->bias, 0, n_out * 4, words->bias);
}
