/* SPDX-License-Identifier: MIT */
#include "world/matrix.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t matrix_options(choir_comm *comm, const char *collective, char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES])
{
	char *text = NULL;
	json_t *root, *entry;
	size_t i, n = 0;

	snprintf(options[n++], MATRIX_OPTION_BYTES, "algorithm=auto");
	if (choir_comm_json(comm, &text) != CHOIR_SUCCESS)
		return n;
	root = json_loads(text, 0, NULL);
	json_array_foreach(json_object_get(root, "algorithms"), i, entry)
	{
		if (strcmp(json_string_value(json_object_get(entry, "collective")), collective) == 0 &&
		    n < MATRIX_OPTIONS)
			snprintf(options[n++], MATRIX_OPTION_BYTES, "algorithm=%s",
			         json_string_value(json_object_get(entry, "name")));
	}
	json_decref(root);
	free(text);
	return n;
}

/* A refused call says UNSUPPORTED on every rank before anything is sent. */
bool matrix_can_run(struct world *world, int rank, choir_comm *comm, const struct dense_call *call)
{
	struct dense_call tiny = *call;
	struct dense_flight flight;
	choir_status st;

	tiny.count = 1;
	tiny.dtype = CHOIR_F32;
	tiny.device = tiny.in_place = false;
	flight_make(&flight, world, rank, &tiny);
	st = flight_call(&flight, comm, NULL, NULL);
	if (st != CHOIR_SUCCESS && st != CHOIR_UNSUPPORTED)
		world_fail(world, rank, "%s with %s: %s", call->what->name, call->options, choir_last_error());
	flight_free(&flight);
	return st == CHOIR_SUCCESS;
}

static bool has_run(const char *algorithm, char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES], const bool *runs,
                    size_t n)
{
	for (size_t o = 0; o < n; o++)
		if (runs[o] && strcmp(strchr(options[o], '=') + 1, algorithm) == 0)
			return true;
	return false;
}

void matrix_methods_ran(struct world *world, int rank, const struct dense_call *c,
                        char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES], const bool *runs, size_t n)
{
	static const char *const methods[] = { "ring", "anticlockwise_ring", "bidirectional_ring",
		                               "meet_in_middle_ring", "quad_directional_ring" };
	bool scatters = strncmp(c->what->name, "reduce_scatter", 14) == 0; /* or a v form */
	bool has_them =
	    scatters || strcmp(c->what->name, "allreduce") == 0 || strncmp(c->what->name, "allgather", 9) == 0;

	if (c->n == 1 || !has_them)
		return;
	for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
		if (!has_run(methods[m], options, runs, n))
			world_fail(world, rank, "%s on %d ranks: %s did not run", c->what->name, c->n, methods[m]);
	if (!has_run(scatters ? "pairwise" : "broadcast", options, runs, n))
		world_fail(world, rank, "%s on %d ranks: broadcast did not run", c->what->name, c->n);
}

/* Where a buffer holds a block of each rank, large sizes are those of the buffer. */
static size_t count_of(const struct dense_call *c, size_t size)
{
	struct collective_shape shape = { .what = c->what, .n = c->n, .root = c->root, .count = size, .gaps = true };
	struct collective_layout layout;
	size_t most;

	collective_lay_out(&shape, 0, &layout);
	most = layout.send_count > layout.recv_count ? layout.send_count : layout.recv_count;
	return size > 10000 && most > size ? size * size / most | 1 : size;
}

enum { SMALL_SIZES = 5, ALL_SIZES = 7 }; /* the last one on up to 5 ranks only */

/* Every algorithm at one size: what they are to give is the same. */
static void run_size(struct world *world, int rank, choir_comm *comm, struct dense_call c, size_t size)
{
	c.count = count_of(&c, size);
	for (int variant = 0; variant < 4; variant++) {
		c.in_place = variant & 1;
		c.device = variant & 2;
		if (size > 100000 && (variant == 1 || variant == 2)) /* one of each at the largest */
			continue;
		flight_run(world, rank, comm, &c);
	}
}

static void run_sizes(struct world *world, int rank, choir_comm *comm, const struct collective_row *what, int n_sizes)
{
	size_t n = (size_t)choir_comm_size(comm),
	       sizes[ALL_SIZES] = { 0, 1, n > 1 ? n - 1 : 2, 3 * n + 1, 1000, 70001, 400003 };
	struct dense_call c = { .what = what, .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .n = (int)n };
	char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES];
	size_t n_options = matrix_options(comm, what->name, options);
	bool runs[MATRIX_OPTIONS] = { false };

	for (size_t o = 0; o < n_options; o++) {
		c.options = options[o];
		runs[o] = matrix_can_run(world, rank, comm, &c);
	}
	matrix_methods_ran(world, rank, &c, options, runs, n_options);
	for (int s = 0; s < n_sizes; s++)
		for (size_t o = 0; o < n_options; o++) {
			c.root = s % c.n;
			c.options = options[o];
			if (runs[o])
				run_size(world, rank, comm, c, sizes[s]);
		}
}

void matrix_sizes(struct world *world, int rank, choir_comm *comm, void *quick)
{
	int n_sizes = quick != NULL ? SMALL_SIZES : choir_comm_size(comm) > 5 ? ALL_SIZES - 1 : ALL_SIZES;

	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		run_sizes(world, rank, comm, &collectives[what], n_sizes);
}

/* Originals and partial sums told apart, in every algorithm. */
void matrix_premultiplied(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 1, 3, 1000, 70001 };
	char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES];

	(void)unused;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		const char *name = collectives[what].name;
		size_t n = collectives[what].reduces ? matrix_options(comm, name, options) : 0;

		for (size_t o = 0; o < n; o++)
			for (int k = 0; k < 4; k++) {
				struct dense_call c = { .what = &collectives[what],
					                .dtype = k % 2 ? CHOIR_F32 : CHOIR_BF16,
					                .op = CHOIR_OP_PREMUL_SUM,
					                .count = counts[k],
					                .in_place = k < 2,
					                .device = k % 2,
					                .n = choir_comm_size(comm),
					                .root = k % choir_comm_size(comm),
					                .options = options[o] };

				if (matrix_can_run(world, rank, comm, &c))
					flight_run(world, rank, comm, &c);
			}
	}
}

/* The logical operators of a third of the integers: their loops are those of band, bor and bxor. */
static bool is_sampled(choir_dtype dtype, choir_op op)
{
	bool logical = op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;

	return !logical || dtype == CHOIR_BOOL || (dtype + op) % 3 == 0;
}

void matrix_types(struct world *world, int rank, choir_comm *comm, void *third)
{
	const int *part = third;

	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) > 0; dtype++)
			for (choir_op op = 0; op <= (collectives[what].reduces ? VALUES_OPS - 1 : 0); op++) {
				struct dense_call c = { .what = &collectives[what],
					                .dtype = dtype,
					                .op = op,
					                .count = 37,
					                .n = choir_comm_size(comm),
					                .device = (dtype + op) % 2 };

				if (is_sampled(dtype, op) &&
				    (part == NULL || ((int)(dtype + op) + what) % 3 == *part % 3) &&
				    choir_supports(comm, c.what->name, dtype, op, choir_none()) == CHOIR_SUCCESS)
					flight_run(world, rank, comm, &c);
			}
}

void matrix_roots(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		for (int root = 0; root < choir_comm_size(comm) && collectives[what].rooted; root++)
			for (int in_place = 0; in_place < 2; in_place++) {
				struct dense_call c = { .what = &collectives[what],
					                .dtype = CHOIR_I32,
					                .op = CHOIR_OP_MAX,
					                .count = 1234,
					                .n = choir_comm_size(comm),
					                .root = root,
					                .in_place = in_place };

				flight_run(world, rank, comm, &c);
			}
}
