/* SPDX-License-Identifier: MIT */
#include "world/matrix.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 32 };

/* The algorithms of a collective as the comm lists them, and "auto". */
static size_t options_of(choir_comm *comm, const char *collective, char options[][48], size_t room)
{
	char *text = NULL;
	json_t *root, *entry;
	size_t i, n = 0;

	snprintf(options[n++], 48, "algorithm=auto");
	if (choir_comm_json(comm, &text) != CHOIR_SUCCESS)
		return n;
	root = json_loads(text, 0, NULL);
	json_array_foreach(json_object_get(root, "algorithms"), i, entry)
	{
		if (strcmp(json_string_value(json_object_get(entry, "collective")), collective) == 0 && n < room)
			snprintf(options[n++], 48, "algorithm=%s", json_string_value(json_object_get(entry, "name")));
	}
	json_decref(root);
	free(text);
	return n;
}

/* Can it run on this layout?  A refused call says UNSUPPORTED on every rank before anything is sent. */
static bool can_run(struct world *world, int rank, choir_comm *comm, const struct test_case *tc, const struct trial *t)
{
	struct trial tiny = *t;
	float a[64 * 64] = { 0 }, b[64 * 64] = { 0 };
	choir_call call = CHOIR_CALL_INIT;
	choir_status st;

	tiny.count = 1;
	tiny.dtype = CHOIR_F32;
	call.options = t->options;
	st = case_call(tc, &tiny, comm, choir_host(a), choir_host(b), &call, NULL);
	if (st != CHOIR_SUCCESS && st != CHOIR_UNSUPPORTED)
		world_fail(world, rank, "%s with %s: %s", tc->name, t->options, choir_last_error());
	return st == CHOIR_SUCCESS;
}

/* Where a buffer holds a block of each rank, large sizes are those of the buffer. */
static size_t count_of(const struct test_case *tc, struct trial *t, size_t size)
{
	size_t send, recv, most;

	t->count = size;
	send = tc->send_elems(t, 0);
	recv = tc->recv_elems(t, 0);
	most = send > recv ? send : recv;
	return size > 10000 && most > size ? size * size / most | 1 : size;
}

enum { SMALL_SIZES = 5, ALL_SIZES = 7 }; /* the last one on up to 5 ranks only */

/* Every algorithm at one size: what they are to give is the same. */
static void run_size(struct world *world, int rank, choir_comm *comm, const struct test_case *tc, struct trial *t,
                     size_t size)
{
	for (int variant = 0; variant < 4; variant++) {
		t->count = count_of(tc, t, size);
		t->in_place = variant & 1;
		t->device = variant & 2;
		if (size > 100000 && (variant == 1 || variant == 2)) /* one of each at the largest */
			continue;
		case_run(world, rank, comm, tc, t);
	}
}

void matrix_sizes(struct world *world, int rank, choir_comm *comm, void *quick)
{
	size_t n = (size_t)choir_comm_size(comm),
	       sizes[ALL_SIZES] = { 0, 1, n > 1 ? n - 1 : 2, 3 * n + 1, 1000, 70001, 400003 };
	char options[MOST_OPTIONS][48];
	bool runs[MOST_OPTIONS];

	for (size_t c = 0; c < n_test_cases; c++) {
		const struct test_case *tc = &test_cases[c];
		size_t n_options = options_of(comm, tc->name, options, MOST_OPTIONS);
		struct trial t = { .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .n = (int)n };

		for (size_t o = 0; o < n_options; o++) {
			t.options = options[o];
			runs[o] = can_run(world, rank, comm, tc, &t);
		}
		for (size_t s = 0; s < (quick != NULL ? SMALL_SIZES : n > 5 ? ALL_SIZES - 1 : ALL_SIZES); s++)
			for (size_t o = 0; o < n_options; o++) {
				t.root = (int)s % t.n;
				t.options = options[o];
				if (runs[o])
					run_size(world, rank, comm, tc, &t, sizes[s]);
			}
	}
}

/* Originals and partial sums told apart, in every algorithm. */
void matrix_premultiplied(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 1, 3, 1000, 70001 };
	char options[32][48];

	(void)unused;
	for (size_t c = 0; c < n_test_cases; c++) {
		size_t n = test_cases[c].reduces ? options_of(comm, test_cases[c].name, options, 32) : 0;

		for (size_t o = 0; o < n; o++)
			for (size_t k = 0; k < 4; k++) {
				struct trial t = { .dtype = k % 2 ? CHOIR_F32 : CHOIR_BF16,
					           .op = CHOIR_OP_PREMUL_SUM,
					           .count = counts[k],
					           .in_place = k < 2,
					           .device = k % 2,
					           .n = choir_comm_size(comm),
					           .options = options[o] };

				t.root = (int)k % t.n;
				if (can_run(world, rank, comm, &test_cases[c], &t))
					case_run(world, rank, comm, &test_cases[c], &t);
			}
	}
}

static bool defined(choir_comm *comm, const struct test_case *tc, choir_dtype dtype, choir_op op)
{
	return choir_supports(comm, tc->name, dtype, op, choir_none()) == CHOIR_SUCCESS;
}

void matrix_types(struct world *world, int rank, choir_comm *comm, void *third)
{
	const int *part = third;

	for (size_t c = 0; c < n_test_cases; c++)
		for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) > 0; dtype++)
			for (choir_op op = 0; op <= (test_cases[c].reduces ? CHOIR_OP_PREMUL_SUM : 0); op++) {
				struct trial t = { .dtype = dtype,
					           .op = op,
					           .count = 37,
					           .n = choir_comm_size(comm),
					           .device = (dtype + op) % 2 };

				if ((part == NULL || (dtype + op + (int)c) % 3 == *part % 3) &&
				    defined(comm, &test_cases[c], dtype, op))
					case_run(world, rank, comm, &test_cases[c], &t);
			}
}

void matrix_roots(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (size_t c = 0; c < n_test_cases; c++)
		for (int root = 0; root < choir_comm_size(comm) && test_cases[c].rooted; root++)
			for (int in_place = 0; in_place < 2; in_place++) {
				struct trial t = { .dtype = CHOIR_I32,
					           .op = CHOIR_OP_MAX,
					           .count = 1234,
					           .n = choir_comm_size(comm),
					           .root = root,
					           .in_place = in_place };

				case_run(world, rank, comm, &test_cases[c], &t);
			}
}
