/* SPDX-License-Identifier: MIT */
/* Every gradient of a tiny model against finite differences of its loss, and the updates against their definition.
 * Duplicates among the words, candidates that are targets, and sizes that are no multiple of anything are all there. */
#include "unit.h"

#include "train/model.h"

#include <choir/device.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VOCABULARY = 11, CONTEXT = 2, WIDTH = 5, HIDDEN = 7, CANDIDATES = 6, ROWS = 9, BATCH = 12 };

static int32_t contexts[ROWS * CONTEXT] = { 1, 2, 3, 3, 0, 0, 10, 1, 5, 6, 2, 1, 7, 7, 9, 0, 4, 10 };
static int32_t out_words[CANDIDATES + ROWS] = { 0, 3, 5, 8, 1, 10, /* targets */ 3, 4, 3, 0, 10, 7, 2, 4, 9 };
static float bias[CANDIDATES + ROWS] = { 0.5f, -0.2f, 0.1f, -1,    0,    0.3f, 0.2f, -0.1f,
	                                 0.4f, 0,     0.7f, -0.6f, 0.1f, 0.2f, -0.3f };

struct fixture {
	choir_device *device;
	struct ocl ocl;
	struct model model;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	static const struct model_shape shape = {
		VOCABULARY, CONTEXT, WIDTH, HIDDEN, CANDIDATES, ROWS, BATCH, 3, 0.5f
	};
	const struct model_words words = { contexts, out_words, bias };
	float word_rate[VOCABULARY];

	for (int k = 0; k < VOCABULARY; k++)
		word_rate[k] = 1 + (float)k;
	if (choir_device_create_default(0, &fixture.device) != CHOIR_SUCCESS)
		exit(77);
	*state = &fixture;
	return ocl_open(&fixture.ocl, choir_device_context(fixture.device), choir_device_id(fixture.device), WIDTH) ||
	       model_create(&fixture.model, &fixture.ocl, &shape, word_rate) || model_set(&fixture.model, &words);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	model_destroy(&fixture->model);
	ocl_close(&fixture->ocl);
	choir_device_destroy(fixture->device);
	return 0;
}

static void read_floats(struct fixture *fixture, cl_mem mem, size_t first, size_t n, float *to)
{
	assert_int_equal(ocl_read(&fixture->ocl, mem, first * sizeof *to, n * sizeof *to, to), CHOIR_SUCCESS);
}

static double loss(struct fixture *fixture)
{
	float losses[ROWS];
	double sum = 0;

	assert_int_equal(model_forward(&fixture->model, 0), CHOIR_SUCCESS);
	read_floats(fixture, fixture->model.losses, 0, ROWS, losses);
	for (int i = 0; i < ROWS; i++)
		sum += losses[i];
	return sum;
}

static double slope(struct fixture *fixture, cl_mem mem, size_t at)
{
	const double step = 0.01;
	float value, moved;
	double up, down;

	read_floats(fixture, mem, at, 1, &value);
	moved = value + (float)step;
	assert_int_equal(ocl_write(&fixture->ocl, mem, at * sizeof moved, sizeof moved, &moved), CHOIR_SUCCESS);
	up = loss(fixture);
	moved = value - (float)step;
	assert_int_equal(ocl_write(&fixture->ocl, mem, at * sizeof moved, sizeof moved, &moved), CHOIR_SUCCESS);
	down = loss(fixture);
	assert_int_equal(ocl_write(&fixture->ocl, mem, at * sizeof value, sizeof value, &value), CHOIR_SUCCESS);
	assert_int_equal(clFinish(fixture->ocl.queue), CL_SUCCESS);
	return (up - down) / (2 * step);
}

static void expect_gradient(struct fixture *fixture, const char *what, cl_mem mem, size_t first, size_t n,
                            const float *gradient)
{
	double largest = 0;

	for (size_t i = 0; i < n; i++) {
		double want = slope(fixture, mem, first + i);

		largest = fmax(largest, fabs(want));
		if (fabs(want - gradient[i]) > 1e-4 + 0.01 * fabs(want))
			fail_msg("%s %zu: %g, by differences %g", what, i, (double)gradient[i], want);
	}
	assert_true(largest > 1e-3); /* or there was nothing to compare */
}

static void backward(struct fixture *fixture)
{
	cl_event ready[4];

	assert_int_equal(model_forward(&fixture->model, 0), CHOIR_SUCCESS);
	assert_int_equal(model_back_output(&fixture->model, ready), CHOIR_SUCCESS);
	assert_int_equal(model_back_projection(&fixture->model, ready + 1), CHOIR_SUCCESS);
	assert_int_equal(model_back_hidden(&fixture->model, ready + 2), CHOIR_SUCCESS);
	assert_int_equal(model_back_input(&fixture->model, ready + 3), CHOIR_SUCCESS);
	assert_int_equal(clFinish(fixture->ocl.queue), CL_SUCCESS);
	for (int i = 0; i < 4; i++)
		clReleaseEvent(ready[i]);
}

static void test_dense(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	size_t n = model->at.loss;
	float *gradient = malloc(n * sizeof *gradient);

	assert_non_null(gradient);
	backward(fixture);
	read_floats(fixture, model->hidden_gradient, 0, model->at.w2, gradient);
	read_floats(fixture, model->projection_gradient, 0, n - model->at.w2, gradient + model->at.w2);
	expect_gradient(fixture, "dense", model->dense, 0, n, gradient);
	free(gradient);
}

/* The rows of a word, added up, are the gradient of its row in the table. */
static void expect_table(struct fixture *fixture, const char *what, cl_mem table, cl_mem rows, const int32_t *words,
                         size_t n)
{
	float *raw = malloc(n * WIDTH * sizeof *raw);
	float sums[VOCABULARY * WIDTH] = { 0 };

	assert_non_null(raw);
	backward(fixture);
	read_floats(fixture, rows, 0, n * WIDTH, raw);
	for (size_t i = 0; i < n * WIDTH; i++)
		sums[(size_t)words[i / WIDTH] * WIDTH + i % WIDTH] += raw[i];
	expect_gradient(fixture, what, table, 0, VOCABULARY * WIDTH, sums);
	free(raw);
}

static void test_tables(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;

	expect_table(fixture, "input table", model->in_table, model->in_rows, contexts, ROWS * CONTEXT);
	expect_table(fixture, "output table", model->out_table, model->out_rows, out_words, CANDIDATES + ROWS);
}

/* The loss by its definition, on the host and in double, from p and the tables. */
static void test_loss(void **state)
{
	struct fixture *fixture = *state;
	float p[ROWS * WIDTH], table[VOCABULARY * WIDTH], device[2];
	double sum = 0, got = loss(fixture);

	read_floats(fixture, fixture->model.p, 0, ROWS * WIDTH, p);
	read_floats(fixture, fixture->model.out_table, 0, VOCABULARY * WIDTH, table);
	for (int i = 0; i < ROWS; i++) {
		double mine = 0, all = 0;

		for (int s = -1; s < CANDIDATES; s++) {
			int at = s < 0 ? CANDIDATES + i : s;
			double logit = bias[at];

			if (s >= 0 && out_words[s] == out_words[CANDIDATES + i])
				continue;
			for (int k = 0; k < WIDTH; k++)
				logit += (double)p[i * WIDTH + k] * table[out_words[at] * WIDTH + k];
			all += exp(logit);
			mine = s < 0 ? logit : mine;
		}
		sum += (log(all) - mine) / BATCH;
	}
	assert_true(fabs(sum - got) < 1e-5);
	read_floats(fixture, fixture->model.projection_gradient, fixture->model.at.loss - fixture->model.at.w2, 2,
	            device);
	assert_true(fabs(sum - device[0]) < 1e-5);
	assert_true(device[1] == 0);
}

/* The second update has half of the first one in it, the first one after model_forget has not. */
static void test_momentum(void **state)
{
	enum { FIRST = 4, COUNT = 20 };
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	float before[COUNT], after[COUNT], gradient[COUNT], moved = 0;

	backward(fixture);
	read_floats(fixture, model->hidden_gradient, 0, COUNT, gradient);
	read_floats(fixture, model->dense, FIRST, COUNT, before);
	assert_int_equal(model_forget(model), CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			assert_int_equal(model_forget(model), CHOIR_SUCCESS);
		assert_int_equal(model_update_dense(model, model->hidden_gradient, FIRST, COUNT, 0.25f), CHOIR_SUCCESS);
	}
	read_floats(fixture, model->dense, FIRST, COUNT, after);
	for (int i = 0; i < COUNT; i++) {
		assert_true(fabsf(before[i] - 0.25f * (1 + 1.5f + 1) * gradient[i] - after[i]) < 1e-5f);
		moved = fmaxf(moved, fabsf(gradient[i]));
	}
	assert_true(moved > 1e-3f);
}

static void test_updates(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	float before[VOCABULARY * WIDTH], after[VOCABULARY * WIDTH], rows[ROWS * CONTEXT * WIDTH];

	backward(fixture);
	read_floats(fixture, model->in_table, 0, VOCABULARY * WIDTH, before);
	read_floats(fixture, model->in_rows, 0, ROWS * CONTEXT * WIDTH, rows);
	assert_int_equal(model_update_rows(model, model->in_table, model->contexts, model->in_rows, 3, 0.5f),
	                 CHOIR_SUCCESS);
	read_floats(fixture, model->in_table, 0, VOCABULARY * WIDTH, after);
	for (int word = 0; word < VOCABULARY; word++)
		for (int k = 0; k < WIDTH; k++) {
			double want = before[word * WIDTH + k];

			for (int r = 0; r < 3; r++) /* words 1, 2, 3 */
				want -= contexts[r] == word ? 0.5 * (1 + word) * rows[r * WIDTH + k] : 0;
			assert_true(fabs(want - after[word * WIDTH + k]) < 1e-6);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss),    cmocka_unit_test(test_dense),    cmocka_unit_test(test_tables),
		cmocka_unit_test(test_updates), cmocka_unit_test(test_momentum),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
